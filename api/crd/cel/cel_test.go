package cel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/crd"
	_ "github.com/storagesim/storagesim/api/crd/cel"
	"github.com/storagesim/storagesim/api/rest"
)

var (
	ctx         = context.Background()
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	shelves     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "shelves"}
)

// definition has rules at three places of a schema.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shelves.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: shelves, kind: Shelf}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "self.used <= self.size", message: "more is used than there is", reason: FieldValueForbidden, fieldPath: .used}
            - {rule: "!has(self.note) || self.note != 'bad'", messageExpression: "'a note must not be ' + self.note"}
            properties:
              size: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf", message: "a shelf does not shrink"}]}
              used: {type: integer, default: 0}
              note: {type: string, maxLength: 20}
              color: {type: string, maxLength: 10, x-kubernetes-validations: [{rule: "self != 'grey'"}]}
          status:
            type: object
            properties: {full: {type: boolean}}
            x-kubernetes-validations: [{rule: "!self.full || oldSelf.full || true"}, {rule: "self.full", message: "a shelf is never empty again"}]
`

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

// serve returns a server with the definition, a client of it and what it was warned of.
func serve(t testing.TB, text string) (dynamic.Interface, *[]string, error) {
	t.Helper()
	at := func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	server := api.NewServer(api.Config{Now: at})
	require.NoError(t, crd.Install(server, at))
	var warned []string
	config := rest.New(server, server.Registry(), at).Config("tester")
	config.WarningHandler = warnings{&warned}
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.Resource(definitions).Create(ctx, parse(t, text), metav1.CreateOptions{})
	return client, &warned, err
}

type warnings struct{ texts *[]string }

func (w warnings) HandleWarningHeader(_ int, _, text string) { *w.texts = append(*w.texts, text) }

var _ restclient.WarningHandler = warnings{}

func shelf(t testing.TB, spec string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, `{apiVersion: example.com/v1, kind: Shelf, metadata: {name: s}, spec: `+spec+`}`)
}

func newShelf(t testing.TB, spec string) (dynamic.ResourceInterface, *unstructured.Unstructured) {
	t.Helper()
	client, warned, err := serve(t, definition)
	require.NoError(t, err)
	assert.Empty(t, *warned, "rules are evaluated")
	of := client.Resource(shelves).Namespace("default")
	made, err := of.Create(ctx, shelf(t, spec), metav1.CreateOptions{})
	require.NoError(t, err)
	return of, made
}

func TestAnObjectThatBreaksARuleIsRefusedInTheWordsOfTheRule(t *testing.T) {
	client, _, err := serve(t, definition)
	require.NoError(t, err)
	of := client.Resource(shelves).Namespace("default")
	for spec, want := range map[string]string{
		`{size: 1, used: 2}`:             `Shelf.example.com "s" is invalid: spec.used: Forbidden: more is used than there is`,
		`{size: 1, note: bad}`:           `spec: Invalid value: a note must not be bad`,
		`{size: 1, color: grey}`:         `spec.color: Invalid value: "grey": failed rule: self != 'grey'`,
		`{size: one, color: grey}`:       `some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`,
		`{used: 0, size: 1, note: 7}`:    `some validation rules were not checked`,
		`{size: 0, used: 1, note: fine}`: `spec.used: Forbidden: more is used than there is`,
	} {
		_, err := of.Create(ctx, shelf(t, spec), metav1.CreateOptions{})
		assert.True(t, apierrors.IsInvalid(err), "%s: %v", spec, err)
		assert.ErrorContains(t, err, want, spec)
	}
	list, err := of.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items, "nothing is stored")
	_, err = of.Create(ctx, shelf(t, `{size: 1}`), metav1.CreateOptions{})
	assert.NoError(t, err, "rules see the defaults")
}

func TestATransitionRuleComparesWithWhatWasThere(t *testing.T) {
	of, made := newShelf(t, `{size: 3}`)
	made.Object["spec"].(map[string]any)["size"] = int64(2)
	_, err := of.Update(ctx, made, metav1.UpdateOptions{})
	assert.ErrorContains(t, err, "spec.size: Invalid value: 2: a shelf does not shrink")
	made.Object["spec"].(map[string]any)["size"] = int64(4)
	_, err = of.Update(ctx, made, metav1.UpdateOptions{})
	assert.NoError(t, err)
}

func TestRulesHoldForTheStatusToo(t *testing.T) {
	of, made := newShelf(t, `{size: 3}`)
	made.Object["status"] = map[string]any{"full": false}
	_, err := of.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	assert.ErrorContains(t, err, "status: Invalid value: a shelf is never empty again")
	made.Object["status"] = map[string]any{"full": true}
	_, err = of.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	assert.NoError(t, err)
}

func TestAValueThatAnUpdateDoesNotChangeMayBreakANewRule(t *testing.T) {
	client, _, err := serve(t, definition)
	require.NoError(t, err)
	of := client.Resource(shelves).Namespace("default")
	made, err := of.Create(ctx, shelf(t, `{size: 3, color: red}`), metav1.CreateOptions{})
	require.NoError(t, err)
	def, err := client.Resource(definitions).Get(ctx, "shelves.example.com", metav1.GetOptions{})
	require.NoError(t, err)
	text, err := yaml.Marshal(def.Object)
	require.NoError(t, err)
	stricter := parse(t, strings.ReplaceAll(string(text), "self != 'grey'", "self != 'red'"))
	_, err = client.Resource(definitions).Update(ctx, stricter, metav1.UpdateOptions{})
	require.NoError(t, err)
	made.SetLabels(map[string]string{"a": "b"})
	made, err = of.Update(ctx, made, metav1.UpdateOptions{})
	require.NoError(t, err)
	made.Object["spec"].(map[string]any)["color"] = "blue"
	made, err = of.Update(ctx, made, metav1.UpdateOptions{})
	require.NoError(t, err)
	made.Object["spec"].(map[string]any)["color"] = "red"
	_, err = of.Update(ctx, made, metav1.UpdateOptions{})
	assert.ErrorContains(t, err, "failed rule: self != 'red'")
}

func TestADefinitionWithARuleThatCannotBeIsRefused(t *testing.T) {
	const at = `spec.validation.openAPIV3Schema.properties[spec].properties[color].x-kubernetes-validations[0].`
	for rule, want := range map[string]string{
		`self != `:             at + "rule: Invalid value: ",
		`self.size > 1`:        "compilation failed",
		`self + 'x'`:           "cel expression must evaluate to a bool",
		`unknown(self)`:        "undeclared reference to 'unknown'",
		` `:                    at + "rule: Required value: rule is not specified",
		`self == oldSelf || x`: "undeclared reference to 'x'",
	} {
		client, _, err := serve(t, strings.ReplaceAll(definition, "self != 'grey'", rule))
		assert.True(t, apierrors.IsInvalid(err), "%s: %v", rule, err)
		assert.ErrorContains(t, err, want, rule)
		_, err = client.Resource(definitions).Get(ctx, "shelves.example.com", metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "nothing is stored")
	}
}

// Upstream's validation of selectable fields panics for such a definition.
func TestASchemaThatIsNotStructuralIsRefusedAlsoWithSelectableFields(t *testing.T) {
	text := strings.Replace(definition, "    schema:\n", "    selectableFields: [{jsonPath: .spec.note}]\n    schema:\n", 1)
	_, _, err := serve(t, text)
	require.NoError(t, err)
	_, _, err = serve(t, strings.Replace(text, "note: {type: string,", "note: {type: string, id: a,", 1))
	require.ErrorContains(t, err, "properties[spec].properties[note].id: Forbidden: id is not supported")
}
