package seedtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Corpus adds inputs to a fuzz target: the seeds, and others made from them, so that `go test`
// without -fuzz tries the same inputs on every machine and each time. A seed has a value for each
// argument of the target: string, []byte, bool or uint64. Usually it makes so many; STORAGESIM_SEEDS
// sets another number. With -v the target says how many there are.
//
// What -fuzz does beyond, guided by coverage and by chance, is for the nightly checks.
func Corpus(f *testing.F, usual int, seeds ...[]any) {
	f.Helper()
	n := Settings(f, usual).Runs
	for _, seed := range seeds {
		f.Add(seed...)
	}
	for i := range n {
		f.Add(mutated(rand.New(rand.NewPCG(uint64(i), 0xc0de)), seeds)...)
	}
	f.Logf("tried %s inputs", grouped(len(seeds)+n))
}

// mutated returns one of the seeds with changes in one to three of its values.
func mutated(rng *rand.Rand, seeds [][]any) []any {
	input := slices.Clone(seeds[rng.IntN(len(seeds))])
	for range 1 + rng.IntN(3) {
		i := rng.IntN(len(input))
		other := seeds[rng.IntN(len(seeds))][i]
		switch v := input[i].(type) {
		case string:
			input[i] = string(changed(rng, []byte(v), []byte(other.(string))))
		case []byte:
			input[i] = changed(rng, v, other.([]byte))
		case bool:
			input[i] = !v
		case uint64:
			input[i] = rng.Uint64() >> rng.IntN(64)
		default:
			panic(fmt.Sprintf("seedtest.Corpus: a seed has a %T", v))
		}
	}
	return input
}

// tokens are texts that parsers treat in a special way.
const tokens = "\x00 \n \t \" ' ` { } [ ] ( ) < > & | ; : , - --- # $ $( ${ * ** ? ! % \\ / .. ../ / // = == + ~ @ ^ \xff \u00e9 \u4e2d 0 1 -1 1e400 " +
	"9223372036854775808 null true {} []"

// changed returns text with one to four edits: bytes left out, doubled, replaced by chance or by a
// token, and parts of another text.
func changed(rng *rand.Rand, text, other []byte) []byte {
	for range 1 + rng.IntN(4) {
		from := rng.IntN(len(text) + 1)
		to := from + rng.IntN(min(len(text)-from, 16)+1)
		var middle []byte
		switch rng.IntN(6) {
		case 0: // left out
		case 1:
			middle = bytes.Repeat(text[from:to], 2+rng.IntN(6))
		case 2:
			middle = []byte{byte(rng.Uint32())}
		case 3, 4:
			all := strings.Split(tokens, " ")
			middle = []byte(all[rng.IntN(len(all))])
		case 5:
			if begin := rng.IntN(len(other) + 1); begin < len(other) {
				middle = other[begin : begin+1+rng.IntN(len(other)-begin)]
			}
		}
		text = slices.Concat(text[:from], middle, text[to:])
	}
	return text
}
