package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mixed has two objects of kinds that there are not, one whose definition comes later, and a pod.
const mixed = `apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web}
---
apiVersion: example.com/v1
kind: Backup
metadata: {name: nightly}
spec: {schedule: daily}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, command: [sleep, "3600"]}]
---
apiVersion: storage.k8s.io/v1beta1
kind: StorageClass
metadata: {name: old}
provisioner: example.com/disk
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Backup, plural: backups, singular: backup}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

func TestAnUnknownKindDoesNotStopTheRest(t *testing.T) {
	path := file(t, "all.yaml", mixed)
	code, out, errOut := command(t, "", "run", "-f", path)
	assert.Equal(t, 1, code)
	assert.Equal(t, path+
		`:2: ServiceMonitor/web: kind: no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1": ensure CRDs are installed first; `+
		`expected the CustomResourceDefinition servicemonitors.monitoring.coreos.com
`+path+`:16: StorageClass/old: apiVersion: no matches for kind "StorageClass" in version "storage.k8s.io/v1beta1"; expected storage.k8s.io/v1
`, errOut)
	assert.Contains(t, out, "creates backup default/nightly")
	assert.Regexp(t, `default +pod/web +1/1 +Running`, out)
}

// Upstream: cli-runtime resource/visitor.go FlattenListVisitor.Visit and EagerVisitorList.Visit, v0.37.2.
func TestAnUnknownKindInAListDoesNotStopTheRest(t *testing.T) {
	const list = `apiVersion: v1
kind: List
items:
- {apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- {apiVersion: v1, kind: Poud, metadata: {name: b}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
`
	path := file(t, "list.yaml", list)
	code, out, errOut := command(t, "", "run", "-f", path)
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, path+`:4: Widget/a: kind: no matches for kind "Widget"`)
	assert.Contains(t, errOut, path+`:6: Poud/b: kind: unknown kind "Poud"`)
	assert.Contains(t, out, "creates configmap default/one")
	assert.Contains(t, out, "creates configmap default/two")

	code, out, errOut = command(t, "", "story", file(t, "list.txt", "apply\n"+list+"----\n"))
	assert.Zero(t, code, errOut)
	assert.Contains(t, out, "----\nconfigmap/one created\nconfigmap/two created\nlist.txt:5: Widget/a: ")
	assert.Contains(t, out, "\nlist.txt:7: Poud/b: ")
}

// A field that there is not is another thing: kubectl would send it, and the API server refuse the object.
func TestAnUnknownFieldStillStopsEverything(t *testing.T) {
	code, out, errOut := command(t, "", "run", "-f", file(t, "all.yaml", mixed+"specs: {}\n"))
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, "specs: unknown field")
	assert.Contains(t, errOut, `no matches for kind "ServiceMonitor"`)
}

func TestOnlyUnknownKindsAreNoRun(t *testing.T) {
	code, out, errOut := command(t, "", "run", "-f", file(t, "all.yaml", "apiVersion: a.b/v1\nkind: C\nmetadata: {name: d}\n"))
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errOut, `no matches for kind "C" in version "a.b/v1"`)
}

// Each folder of examples is played by run, or run says what plays it.
func TestRunPlaysEveryExampleOrSaysWhatDoes(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("../../examples/*/README.md")
	require.NoError(t, err)
	require.Greater(t, len(folders), 25)
	played := 0
	for _, readme := range folders {
		folder := filepath.Dir(readme)
		code, _, errOut := command(t, "", "run", "-f", folder, "-o", "table")
		if code == 0 {
			played++
			continue
		}
		assert.Contains(t, errOut, "note: a Go program in "+folder+" plays its manifests: cd "+folder+" && go ", folder)
	}
	assert.Greater(t, played, 12)
	info, err := os.Stat("../../examples/topology/main.go") // the commands that the notes name
	require.NoError(t, err)
	assert.False(t, info.IsDir())
}

func TestAnObjectThatIsThereTwiceIsAppliedTwice(t *testing.T) {
	const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {was: one, both: one}\n"
	path := file(t, "all.yaml", first+"---\n"+strings.NewReplacer("one", "two", "was", "is").Replace(first))
	code, out, errOut := command(t, "", "run", "-f", path, "-o", "yaml")
	require.Zero(t, code, errOut)
	require.Equal(t, "note: "+path+":6: ConfigMap/a is at "+path+":1, too: both are applied in this order, as kubectl does it\n", errOut)
	require.Contains(t, out, "  data:\n    both: two\n    is: two\n")
}

func TestRunPrintsEachWarningOfTheServerOnce(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {nodeSelector: {beta.kubernetes.io/os: linux}, containers: [{name: c, image: busybox}]}\n"
	code, _, errOut := command(t, fmt.Sprintf(pod, "one")+"---\n"+fmt.Sprintf(pod, "two"), "run", "-f", "-", "-o", "table")
	assert.Zero(t, code)
	assert.Equal(t, "Warning: spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead\n", errOut)
}

func TestRunSaysOnceThatWebhooksAreNotAsked(t *testing.T) {
	code, _, errOut := command(t, "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: hook}}",
		"run", "-f", "-", "-o", "table")
	assert.Zero(t, code)
	assert.Equal(t, "note: ValidatingWebhookConfiguration/hook: a cluster asks it about each request that it selects; here it is stored and not asked, "+
		"unless it is a webhook of an operator that is played in the process, or one that serve asks over HTTPS: nothing is refused or changed by it\n", errOut)
}

func TestTheShellSaysOnceThatWebhooksAreNotAsked(t *testing.T) {
	hooks := file(t, "hooks.yaml", "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: hook}}\n---\n"+
		"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, "+
		"spec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a, apiVersion: apps/v1}}}\n")
	code, out, errOut := command(t, "", "shell", "-f", hooks)
	assert.Zero(t, code)
	assert.NotContains(t, errOut, "ValidatingWebhookConfiguration", "which the output of apply tells")
	assert.Contains(t, errOut, "note: HorizontalPodAutoscaler/a: ")
	assert.Equal(t, 1, strings.Count(out, "Warning: the simulation stores admission policies, and webhooks"), out)
}
