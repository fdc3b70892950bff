package storagesimtest_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// A test is a program with other types for the cluster and its machines, which fails where that would return an error.
func TestATestHasTheMethodsOfAProgramWithTheirResults(t *testing.T) {
	program := reflect.TypeFor[*storagesim.Cluster]()
	types := map[reflect.Type]reflect.Type{
		reflect.TypeFor[storagesim.Machine](): reflect.TypeFor[storagesimtest.Machine](),
		program:                               reflect.TypeFor[*storagesimtest.Cluster](),
	}
	failure := reflect.TypeFor[error]()
	for in, test := range types {
		for i := range in.NumMethod() {
			theirs := in.Method(i)
			ours, ok := test.MethodByName(theirs.Name)
			require.True(t, ok, theirs.Name)
			want, has := signature(theirs.Type), signature(ours.Type)
			for i, p := range want.out {
				if p == in || types[p] != nil {
					want.out[i] = types[p]
				}
			}
			if last := len(want.out) - 1; len(has.out) == last && want.out[last] == failure {
				want.out = want.out[:last]
			}
			require.Equal(t, want, has, "%s.%s", in, theirs.Name)
		}
		for i := range test.NumMethod() {
			name := test.Method(i).Name
			if _, ok := in.MethodByName(name); !ok && in == program {
				require.Contains(t, []string{"Must", "Drain", "Step"}, name, "storagesim.Cluster has no such method")
			}
		}
	}
}

type params struct{ in, out []reflect.Type }

// signature returns the parameters of a method, without its receiver, and its results.
func signature(f reflect.Type) (p params) {
	for i := 1; i < f.NumIn(); i++ {
		p.in = append(p.in, f.In(i))
	}
	p.out = []reflect.Type{}
	for i := range f.NumOut() {
		p.out = append(p.out, f.Out(i))
	}
	return p
}
