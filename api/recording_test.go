package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// recorded holds the used parts of a recording: see package conformance.
type recorded struct {
	Steps []struct {
		Step struct {
			Create []map[string]any
			Patch  *struct {
				Object string
				Patch  json.RawMessage
			}
		}
		Writes []struct {
			Actor, Verb, Resource, Name, Message string
			Code                                 int
			Changed                              map[string]any
		}
	}
}

// cut is the length at which recordings cut long messages.
const cut = 300

// internalNames: release 1.36 quotes its internal types, whose fields have other names than
// those of the API. Such messages differ.
var internalNames = regexp.MustCompile(`\{"[A-Z]`)

// The conformance suite compares codes and fields; here the words must agree,
// too. Where a controller wrote in the recording, the test takes its place.
func TestTheRefusalsOfARealServerAreRepeatedToTheLetter(t *testing.T) {
	files, err := filepath.Glob("../conformance/testdata/fuzz_*.json")
	require.NoError(t, err)
	refusals := 0
	for _, file := range append(files, "../conformance/testdata/api_refusals.json") {
		t.Run(filepath.Base(file), func(t *testing.T) { refusals += repeatRefusals(t, file) })
	}
	assert.GreaterOrEqual(t, refusals, 180)
}

// repeatRefusals compares the words of all refusals of one recording, and counts them.
func repeatRefusals(t *testing.T, file string) (refusals int) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var recording recorded
	require.NoError(t, json.Unmarshal(data, &recording))
	c := fake.New(api.NewServer(api.Config{Now: newClock().Now, DenyPrivileged: true}), "user")
	for _, step := range recording.Steps {
		var said []string
		for _, obj := range step.Step.Create {
			said = append(said, words(createRecorded(c, obj)))
		}
		if p := step.Step.Patch; p != nil {
			said = append(said, words(patchRecorded(c, p.Object, p.Patch)))
		}
		for _, w := range step.Writes {
			switch {
			case w.Actor == "user" && w.Code >= 400 && !internalNames.MatchString(w.Message):
				refusals++
				assert.Condition(t, func() bool {
					return slices.ContainsFunc(said, func(s string) bool { return s == w.Message || len(w.Message) == cut && strings.HasPrefix(s, w.Message) })
				}, "%q is not among %q", w.Message, said)
			case w.Actor != "user" && w.Resource == "persistentvolumeclaims/status" && w.Code < 300:
				standIn(t, c, w.Name, w.Changed)
			}
		}
	}
	return refusals
}

func words(err error) string {
	if err == nil {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\n") // recordings have the first line
	return text
}

func createRecorded(c *fake.Clientset, obj map[string]any) error {
	u := unstructured.Unstructured{Object: obj}
	typed, err := scheme.Scheme.New(u.GroupVersionKind())
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
		return err
	}
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	gvr, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	_, err = c.Invokes(clienttesting.NewCreateAction(gvr, namespace, typed), nil)
	return err
}

func patchRecorded(c *fake.Clientset, ref string, patch []byte) error {
	kind, name, _ := strings.Cut(ref, "/")
	gvr := map[string]schema.GroupVersionResource{
		"pv": v1.SchemeGroupVersion.WithResource("persistentvolumes"), "pvc": v1.SchemeGroupVersion.WithResource("persistentvolumeclaims"),
		"sc": storagev1.SchemeGroupVersion.WithResource("storageclasses"),
	}[kind]
	_, err := c.Invokes(clienttesting.NewPatchAction(gvr, "default", name, types.MergePatchType, patch), nil)
	return err
}

// standIn makes a claim Bound, as the PV controller did in the recording.
func standIn(t *testing.T, c *fake.Clientset, name string, changed map[string]any) {
	name = strings.TrimPrefix(name, "default/")
	claims := c.CoreV1().PersistentVolumeClaims("default")
	if changed["/status/phase"] != "Bound" {
		return
	}
	claim, err := claims.Get(ctx, name, metav1.GetOptions{})
	require.NoError(t, err)
	claim.Spec.VolumeName = "pv"
	claim, err = claims.Update(ctx, claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	claim.Status.Phase = v1.ClaimBound
	claim.Status.Capacity = claim.Spec.Resources.Requests
	_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	require.NoError(t, err)
}
