package manifest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/internal/manifest"
)

const positioned = `# a comment
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: &l
    a.b/c: d
    e.f: h
    on: "x"
spec:
  containers:
  - name: one
    image: i
  - name: two
    volumeMounts:
    -
      name: v
`

func TestAFieldOfARefusalHasItsLine(t *testing.T) {
	objects, err := manifest.Parse(kinds, "a.yaml", []byte(positioned))
	require.NoError(t, err)
	for path, want := range map[string]int{
		"":                                        2,
		"metadata":                                4,
		"metadata.name":                           5,
		"metadata.labels":                         6,
		"metadata.annotations":                    4,
		"metadata.namespace":                      4,
		"metadata.labels[a.b/c]":                  7,
		"metadata.labels[true]":                   9,
		"metadata.labels[none]":                   6,
		"metadata.labels[":                        6,
		"metadata.name.deeper":                    5,
		"spec.containers[0].image":                13,
		"spec.containers[0].image[0]":             13,
		"spec.containers[1]":                      14,
		"spec.containers[1].image":                14,
		"spec.containers[1].volumeMounts[0].name": 17,
		"spec.containers[2].image":                11,
		"spec.containers[x]":                      11,
		"status.phase":                            2,
		"..":                                      2,
	} {
		assert.Equal(t, want, objects[0].LineOf(path), path)
	}
	assert.Equal(t, 0, manifest.Object{}.LineOf("spec"))
}

func TestARefusalNamesTheLineOfEachField(t *testing.T) {
	objects, err := manifest.Parse(kinds, "a.yaml", []byte(positioned))
	require.NoError(t, err)
	spec := field.NewPath("spec")
	pod := v1.SchemeGroupVersion.WithKind("Pod").GroupKind()
	for _, c := range []struct {
		err  error
		want string
	}{
		{apierrors.NewInvalid(pod, "web", field.ErrorList{
			field.Invalid(spec.Child("containers").Index(0).Child("image"), "i", "bad"), field.Required(spec.Child("containers").Index(1).Child("image"), ""),
		}), "a.yaml:13: Pod/web: Pod \"web\" is invalid: spec.containers[0].image: Invalid value: \"i\": bad\n" +
			"a.yaml:14: Pod/web: Pod \"web\" is invalid: spec.containers[1].image: Required value"},
		{apierrors.NewInvalid(pod, "web", field.ErrorList{field.Forbidden(nil, "no")}), `a.yaml:2: Pod/web: Pod "web" is invalid: <nil>: Forbidden: no`},
		{apierrors.NewInvalid(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), "web", nil), `a.yaml:2: Pod/web: Deployment.apps "web" is invalid`},
		{fmt.Errorf("x: %w", apierrors.NewForbidden(v1.Resource("pods"), "web", errors.New("no"))), `a.yaml:2: Pod/web: pods "web" is forbidden: no`},
		{errors.New("lost"), "a.yaml:2: Pod/web: lost"},
	} {
		refused := objects[0].Refused(c.err)
		assert.EqualError(t, refused, c.want)
		assert.ErrorIs(t, refused, c.err)
		elsewhere := manifest.Object{File: "manifest", Line: 1, Object: &v1.Pod{}}.Refused(c.err)
		assert.EqualError(t, objects[0].Refused(errors.Join(elsewhere)), c.want, "an error with other lines gets these")
	}
}
