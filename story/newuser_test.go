package story

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const claimData = "apply\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: " +
	"{storage: 1Gi}}}\n----\n\n"

func TestSettleDoesNotSitOutARestartThatTheScriptHasSetForLater(t *testing.T) {
	got := play(t, "crash persistent-volume-binder restart=20m\n----\n\n"+claimData+
		"settle\n----\n\nget pvc data\n----\n\nrun-for 20m fault\n----\n\nsettle\n----\n")
	lines := outputs(got)
	assert.Contains(t, lines, "persistent-volume-binder crashed")
	assert.Contains(t, lines, "  0:00:00  persistent-volume-binder  is down for 20m0s")
	assert.Contains(t, lines, "persistent-volume-binder is still down; it starts again at 0:20:00: run-for lets that time pass")
	assert.Contains(t, lines, "  0:20:00  persistent-volume-binder  starts again")
	assert.NotContains(t, lines[len(lines)-1], "still down")

	got = play(t, "crash persistent-volume-binder before update pv/status restart=1m\n----\n\napply\napiVersion: v1\nkind: PersistentVolume\n"+
		"metadata: {name: pv}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}\n----\n\nsettle fault\n----\n")
	assert.Contains(t, got, "persistent-volume-binder is still down; it starts again at 0:01:00")
}

func TestATraceCanBeThatOfOneObject(t *testing.T) {
	got := play(t, claimData+"apply\napiVersion: v1\nkind: Namespace\nmetadata: {name: lab}\n----\n\nsettle quiet\n----\n\ntrace pvc/data\n----\n\n"+
		"trace ns/lab\n----\n\ntrace pvc/data event\n----\n\ntrace pvc/dat\n----\n")
	lines := outputs(got)[2:]
	require.Len(t, lines, 5)
	assert.Equal(t, "nothing of this kind was recorded", lines[4])
	assert.Contains(t, lines[0], "creates pvc default/data")
	assert.Contains(t, lines[1], "says of pvc default/data: Normal FailedBinding")
	assert.Contains(t, lines[2], "creates ns lab")
	assert.Equal(t, lines[1][11:], lines[3][11:])
}

func TestAWrongNameGetsTheRightOneSuggested(t *testing.T) {
	for script, want := range map[string]string{
		"read kubelet/node-1:/x\n----\n": `"kubelet/node-1:/x" is not a place (did you mean "node/node-1:/x"?); expected pod/NAME:PATH, ` +
			`node/NAME:PATH or nfs/SERVER:PATH`,
		"ls node-1:/x\n----\n":                         `"node-1:/x" is not a place (did you mean "node/node-1:/x"?); expected pod/NAME:PATH`,
		"kubectl get pvc\n----\n":                      `unknown command "kubectl": commands are written without it, for example: get pvc`,
		"sleep 5m\n----\n":                             `unknown command "sleep": run-for TIME lets virtual time pass`,
		"crash\n----\n":                                `no actor is named; expected one of persistent-volume-binder`,
		"fail openebs create pvc\n----\n":              `no actor is called "openebs" (did you mean "openebs.io/local"?)`,
		"taint node-1 dedicated\n----\n":               `"dedicated" has no effect; expected KEY[=VALUE]:EFFECT`,
		"setle\n----\n":                                `unknown command "setle" (did you mean "settle"?); expected one of cluster,`,
		"crash node/node-1\n----\n":                    `no actor is called "node/node-1" (did you mean "kubelet/node-1"?); expected one of persistent-volume-binder`,
		"crash node-1\n----\n":                         `did you mean "kubelet/node-1"?`,
		"crash kube-schedler\n----\n":                  `did you mean "kube-scheduler"?`,
		"break kubelet/node-1 mount error=EIO\n----\n": `"kubelet/node-1" is not a machine (did you mean "node/node-1"?)`,
		"break node/node1 mount error=EIO\n----\n":     `no node is called "node1" (did you mean "node-1"?)`,
		"delete pod/db-0 --cascade sideways\n----\n":   `invalid cascade value "sideways"; expected background, foreground or orphan`,
		"settle evnt\n----\n":                          `did you mean "event"?`,
		"get\u3000pods\n----\n":                        `it has a full-width space; plain ones separate words`,
		"fail-csi any Probe hang\n----\n":              `fail-csi: "hang" is not a volume; expected hang=yes`,
	} {
		_, err := Run("test.txt", script)
		assert.ErrorContains(t, err, want, script)
	}
}

func TestADeploymentIsCreatedByItsNameAndImage(t *testing.T) {
	got := play(t, "create deployment web --image=registry.example.com/shop/nginx:1.27 --replicas 2\n----\n\n"+
		"create deploy db --image example.com/my_db:1 -n lab\n----\n\n"+
		"create namespace lab\n----\n\ncreate deploy db --image example.com/my_db:1 -n lab\n----\n\nsettle quiet\n----\n\n"+
		"get deployments -A -o wide\n----\n\nget pods -l app=web\n----\n")
	for _, want := range []string{
		"deployment.apps/web created\n", `Error from server (NotFound): namespaces "lab" not found`, "deployment.apps/db created\n",
	} {
		assert.Contains(t, got, want)
	}
	assert.Regexp(t, `default +web +2/2 +2 +2 +\S+ +nginx +registry.example.com/shop/nginx:1.27 +app=web`, got)
	assert.Regexp(t, `lab +db +1/1 +1 +1 +\S+ +my-db +example.com/my_db:1 +app=db`, got)
	assert.Regexp(t, `web-\w+-\w+ +1/1 +Running`, got)
	for script, want := range map[string]string{
		"create deployment web\n----\n":                    "create: expected create deployment NAME --image IMAGE, without input",
		"create --image nginx\n----\n":                     "create: expected create deployment NAME --image IMAGE",
		"create namespace x --image nginx\n----\n":         "create: expected create namespace NAME, without input",
		"create job x --image nginx\n----\n":               "create: create job: only a namespace or a deployment can be created by its name",
		"create deployment web --image nginx --replicas x": `create: --replicas: "x" is not a whole number such as 30`,
	} {
		_, err := Run("test.txt", script)
		assert.ErrorContains(t, err, want, script)
	}
	assert.False(t, NeedsInput("create deployment web --image=nginx"))
	assert.False(t, NeedsInput("create namespace x"))
	assert.True(t, NeedsInput("create -n lab"))
}

func TestObjectsOfAllNamespacesAreDeleted(t *testing.T) {
	claim := func(namespace, name, labels string) string {
		return "apply -n " + namespace + "\n" + strings.Replace(strings.TrimPrefix(claimData, "apply\n"), "{name: data}", "{name: "+name+labels+"}", 1)
	}
	got := play(t, "create namespace lab\n----\n\n"+claim("default", "a", "")+claim("lab", "b", "")+claim("lab", "c", ", labels: {x: z}")+
		"delete pvc -A\n----\n\ndelete pvc a -A\n----\n\ndelete pvc/a --all-namespaces\n----\n\ndelete pvc -l x=z -A\n----\n\nsettle quiet\n----\n\n"+
		"label pvc --all -A z=1\n----\n\ndelete pvc --all -A\n----\n\nsettle quiet\n----\n\nget pvc -A\n----\n")
	assert.Equal(t, []string{
		"error: resource(s) were provided, but no name was specified", "error: a resource cannot be retrieved by name across all namespaces",
		"error: a resource cannot be retrieved by name across all namespaces", `persistentvolumeclaim "c" deleted from lab namespace`,
		"persistentvolumeclaim/a labeled", "persistentvolumeclaim/b labeled",
		`persistentvolumeclaim "a" deleted from default namespace`, `persistentvolumeclaim "b" deleted from lab namespace`, "No resources found",
	}, outputs(got)[4:])
}

// Editors on Windows put a byte order mark in front and end lines with two characters.
func TestAScriptMayBeWrittenOnWindows(t *testing.T) {
	require.Equal(t, "get pvc\n----\nNo resources found in default namespace.\n", play(t, "\ufeffget pvc\r\n----\r\n"))
}

func TestANamespaceIsCreatedAndDeletedByItsName(t *testing.T) {
	got := play(t, "create namespace shop\n\ncreate ns other\n\ncreate namespace shop\n\ncreate namespace Shop\n\n"+
		"delete namespace shop\n\nsettle quiet\n\nget namespace shop\n")
	for _, want := range []string{
		"create namespace shop\n----\nnamespace/shop created\n", "create ns other\n----\nnamespace/other created\n",
		`Error from server (AlreadyExists): namespaces "shop" already exists`, `The Namespace "Shop" is invalid: metadata.name: Invalid value: "Shop"`,
		`namespace "shop" deleted`, `Error from server (NotFound): namespaces "shop" not found`,
	} {
		require.Contains(t, got, want)
	}
	for script, want := range map[string]string{
		"create namespace\n----\n":      "expected create namespace NAME",
		"create namespace a b\n----\n":  "expected create namespace NAME",
		"create configmap shop\n----\n": "create configmap: only a namespace or a deployment can be created by its name",
	} {
		_, err := Run("test.txt", script)
		require.ErrorContains(t, err, want)
	}
}

func TestTheDefinitionsOfSnapshotsAreNotToldAsNews(t *testing.T) {
	const script = "cluster nodes=node-1 provisioners=csi\n\napply\napiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshotClass\nmetadata: {name: snaps}\n" +
		"driver: csi.storagesim.io\ndeletionPolicy: Delete\n\nsettle\n"
	got := play(t, script)
	require.Contains(t, got, "creates volumesnapshotclass snaps")
	require.NotContains(t, got, "customresourcedefinition")
	require.Contains(t, play(t, script+"\ntrace setup write\n"), "creates customresourcedefinition volumesnapshots.snapshot.storage.k8s.io")
}

func TestCommandsTakeANamespaceAsKubectlDoes(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" +
		"spec: {containers: [{name: c, image: busybox, command: [sh, -c, 'echo hello; sleep 9000']}]}\n"
	script := "create\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n\napply -n shop\n" + pod + "\nsettle quiet\n"
	for _, command := range []string{
		"logs web -n shop", "exec web -n shop -- echo there", "logs -n shop pod/web", "explain pod web -n shop", "explain node/node-1 -n shop",
		"delete pod web -n shop --force --grace-period 5", "delete pod web -n shop --force", "get pods -A",
	} {
		script += "\n" + command + "\n"
	}
	got := play(t, script)
	require.Equal(t, 2, strings.Count(got, "\nhello\n"), got)
	for _, want := range []string{
		"\nthere\n", "\npod shop/web is Running", "\nnode node-1 is ready", "--force and --grace-period greater than 0 cannot be specified together",
		`pod "web" force deleted from shop namespace`, "No resources found",
	} {
		require.Contains(t, got, want)
	}
	require.Contains(t, play(t, "apply -n shop\n"+strings.Replace(pod, "name: web", "name: web, namespace: other", 1)+"----\n"),
		"metadata.namespace: is other, which is not the namespace asked for, shop")
}

func TestTheMessagesOfEventsAreWrappedAsATableOfEventsIs(t *testing.T) {
	var got strings.Builder
	require.NoError(t, Play(t.Context(), &got, "test.txt", claimData+"settle quiet\n----\n\nget events\n----\n", Options{Width: 80}))
	_, table, _ := strings.Cut(got.String(), "get events\n----\n")
	require.Contains(t, table, "REASON")
	require.Contains(t, table, "OBJECT")
	for line := range strings.Lines(table) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), 80, table)
	}
}

func TestExplainTakesAnObjectAsDescribeDoes(t *testing.T) {
	got := play(t, claimData+"explain pvc/data\n----\n\nexplain pvc data\n----\n\nexplain pvc/default/data\n----\n")
	require.Equal(t, 3, strings.Count(got, "\npvc default/data is Pending\n"), got)
}

// As kubectl's create, which leaves out the version of an object that was written out with "get -o yaml".
func TestAnObjectThatWasWrittenOutIsCreatedAnew(t *testing.T) {
	require.Contains(t, play(t, "create\n{apiVersion: v1, kind: ConfigMap, metadata: {name: conf, resourceVersion: \"71\"}}\n----\n"), "configmap/conf created\n")
}

// A learner who leaves out --force sees what a cluster shows: the pod stays until its node answers.
func TestOnlyForceEndsAPodWithoutItsNode(t *testing.T) {
	script := "cluster nodes=node-1 provisioners=\n\napply\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" +
		"spec: {containers: [{name: c, image: busybox, command: [sleep, infinity]}]}\n\nsettle quiet\n\nstop node/node-1\n"
	for _, command := range []string{
		"delete pod web --grace-period 0", "run-for 10m quiet", "get pod web", "delete pod web --now --grace-period 3", "delete pod web --now --force",
		"delete pod web --grace-period 0 --force", "get pod web",
	} {
		script += "\n" + command + "\n"
	}
	_, got, _ := strings.Cut(play(t, script), "stop node/node-1\n")
	for _, want := range []string{
		"----\npod \"web\" deleted from default namespace\n", "Terminating", "error: --now and --grace-period cannot be specified together\n",
		"error: --force and --grace-period greater than 0 cannot be specified together\n",
		"Warning: Immediate deletion does not wait for confirmation that the running resource has been", "pod \"web\" force deleted from default namespace\n",
		`(NotFound): pods "web" not found`,
	} {
		_, after, found := strings.Cut(got, want)
		require.True(t, found, "%s in %s", want, got)
		got = after
	}
}

func TestCommandsOfKubectlThatAreNotThereAreAnswered(t *testing.T) {
	for command, want := range map[string]string{
		"logs -f web":              "there is nothing to follow, since no time passes while a command prints",
		"diff -f web.yaml":         "apply says whether it changes an object",
		"port-forward pod/web 80":  "containers have no network",
		"proxy":                    "storagesim serve offers a cluster to other programs",
		"api-resources":            "get with a TYPE that does not exist lists",
		"auth can-i get pods":      "a user may do everything",
		"config current-context":   "a story has one cluster",
		"cluster-info":             "get nodes lists its machines",
		"version":                  "storagesim version prints",
		"rollout status deploy/db": "settle runs until the cluster is at rest",
	} {
		var out strings.Builder
		require.ErrorContains(t, Play(t.Context(), &out, "test.txt", command+"\n", Options{}), want, command)
	}
}
