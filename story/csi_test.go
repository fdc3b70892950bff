package story

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// csiStory plays a claim and a pod of the reference driver after the commands.
func csiStory(t *testing.T, commands string) string {
	t.Helper()
	return play(t, strings.ReplaceAll("cluster nodes=node-1 provisioners=csi\nrun-for 10s quiet\n"+commands, "\n", "\n----\n\n")+`apply
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: csi, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
----

run-for 10m grpc
----

get pod
----

`)
}

func TestCallsOfACSIDriverFailInEveryWayAndThePodRunsInTheEnd(t *testing.T) {
	for commands, want := range map[string]string{
		"fail-csi csi.storagesim.io CreateVolume\n": "Internal: injected fault (fault: " +
			"it is refused before the driver gets it)",
		"fail-csi csi.storagesim.io any error=ResourceExhausted when=after caller=kubelet/node-1\n": "ResourceExhausted: injected fault (fault: " +
			"it is refused after the driver has done it)",
		"fail-csi any NodeStageVolume hang=yes\n": "DeadlineExceeded: context deadline exceeded after " +
			"2m0s (fault: it hangs before the driver gets it)",
		"fail-csi any ControllerPublishVolume lost=yes times=2\n": "Unavailable: error reading from server: EOF (fault: " +
			"the answer is lost)",
		"fail-csi any NodePublishVolume delay=30s\n": "OK after 30s (fault: it takes 30s)",
		"fail-csi any NodePublishVolume crash=yes when=after restart=5s\n": "(fault: the driver crashes after the " +
			"driver has done it)",
		"fail-csi any NodePublishVolume crash=yes skip=1\nfail-csi any CreateVolume other error=Aborted\n": "calls NodePublishVolume of csi.storagesim.io",
	} {
		got := csiStory(t, commands)
		flat := strings.Join(strings.Fields(got), " ")
		assert.Contains(t, flat, want, commands)
		assert.Contains(t, flat, "web 1/1 Running", commands)
	}
}

func TestAMendedCSIDriverFailsNoMore(t *testing.T) {
	assert.NotContains(t, csiStory(t, "fail-csi any any error=Aborted times=0\nmend\n"), "Aborted: injected")
}

func TestAFaultOfACSIDriverThatMakesNoSenseNamesWhatIsAllowed(t *testing.T) {
	for line, want := range map[string]string{
		"fail-csi any":                            `test.txt:4: fail-csi: wrong number of arguments: 1; expected 2 to 3; usage: fail-csi DRIVER METHOD`,
		"fail-csi csi.storage.io any":             `call.Fault.Driver: there is no CSI driver "csi.storage.io" (did you mean "csi.storagesim.io"?)`,
		"fail-csi any NodeStage":                  `call.Fault.Method: there is no method "NodeStage"`,
		"fail-csi any NodeStageVolum":             `(did you mean "NodeStageVolume"?); expected one of GetPluginInfo`,
		"fail-csi any any error=Intern":           `error: unknown code "Intern" (did you mean "Internal"?); expected one of Aborted, AlreadyExists`,
		"fail-csi any any error=OK":               `error: unknown code "OK"`,
		"fail-csi any any caller=kubelet/node-9":  `call.Fault.Caller: there is no actor "kubelet/node-9" (did you mean "kubelet/node-1"?)`,
		"fail-csi any any when=now":               `when: "now"; expected before or after`,
		"fail-csi any any hang=no":                `hang: "no"; expected yes`,
		"fail-csi any any hang=yes error=Aborted": `expected only one of error=, hang=, lost=, delay= and crash=`,
		"fail-csi any any restart=5s":             `restart= is how long the driver is away after crash=yes, which is not set`,
		"fail-csi any any lost=yes when=before":   `lost=yes: there is an answer to lose only after the call`,
		"fail-csi any any times=some":             `times: "some" is not a whole number`,
		"fail-csi any any for=1m":                 `unknown setting "for"; expected one of caller, when, error`,
	} {
		_, err := Run("test.txt", "cluster nodes=node-1 provisioners=csi\n----\n\n"+line+"\n----\n")
		assert.ErrorContains(t, err, want, line)
	}
}
