package validation_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/apitest"
)

func TestNewPodsAreRefusedInTheWordsOfTheRealServer(t *testing.T) {
	const box = "name: c, image: busybox"
	refusesNew(t, apitest.GoodPod, []refusal{
		{"no containers", "spec: {containers: []}", []string{"spec.containers: Required value"}},
		{"a container without a name", "spec: {containers: [{image: busybox}]}", []string{"spec.containers[0].name: Required value"}},
		{"two containers of one name", "spec: {containers: [{" + box + "}, {" + box + "}]}",
			[]string{`spec.containers[1].name: Duplicate value: "c"`}},
		{"an init container of the same name", "spec: {initContainers: [{" + box + "}]}",
			[]string{`spec.initContainers[0].name: Duplicate value: "c"`}},
		{"a container without an image", "spec: {containers: [{name: c}]}", []string{"spec.containers[0].image: Required value"}},
		{"blanks round an image", "spec: {containers: [{name: c, image: ' busybox'}]}",
			[]string{`spec.containers[0].image: Invalid value: " busybox": must not have leading or trailing whitespace`}},
		{"an unknown pull policy", "spec: {containers: [{" + box + ", imagePullPolicy: Sometimes}]}",
			[]string{`spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`}},
		{"an unknown restart policy", "spec: {restartPolicy: Sometimes}",
			[]string{`spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"`}},
		{"processes shared in the pod and with the node", "spec: {hostPID: true, shareProcessNamespace: true}",
			[]string{"spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"}},
		{"a bad node selector", "spec: {nodeSelector: {a: 'b c'}}", []string{`spec.nodeSelector: Invalid value: "b c": a valid label must be an empty ` +
			`string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
			`(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
		{"an empty affinity term list", "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}}",
			[]string{"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: " +
				"must have at least one node selector term"}},
		{"a field selector on another field", "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
			"{nodeSelectorTerms: [{matchFields: [{key: metadata.uid, operator: In, values: [a]}]}]}}}}",
			[]string{"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: " +
				`Invalid value: "metadata.uid": not a valid field selector key`}},
		{"pod affinity without a topology",
			"spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, podAffinityTerm: {topologyKey: a/}}]}}}",
			[]string{"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100",
				"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: \"a/\": " +
					"name part must be non-empty",
				"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: \"a/\": " +
					"name part must consist of alphanumeric characters, " +
					"'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
					"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"}},
		{"a toleration of everything that is not Exists", "spec: {tolerations: [{effect: NoSchedule}]}",
			[]string{`spec.tolerations[0].operator: Invalid value: "": operator must be Exists when ` + "`key`" +
				` is empty, which means "match all values and all keys"`}},
		{"toleration seconds without eviction", "spec: {tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 5}]}",
			[]string{`spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when ` + "`tolerationSeconds`" + ` is set`}},
		{"more asked for than allowed", "spec: {containers: [{" + box + ", resources: {limits: {cpu: 1}, requests: {cpu: 2}}}]}",
			[]string{`spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`}},
		{"less than nothing asked for", "spec: {containers: [{" + box + ", resources: {requests: {memory: -1}}}]}",
			[]string{`spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0`}},
		{"an unknown resource", "spec: {containers: [{" + box + ", resources: {requests: {disk: 1}}}]}", []string{
			`spec.containers[0].resources.requests[disk]: Invalid value: "disk": must be a standard resource type or fully qualified`,
			`spec.containers[0].resources.requests[disk]: Invalid value: "disk": must be a standard resource for containers`}},
		{"a resource that containers do not have", "spec: {containers: [{" + box + ", resources: {requests: {storage: 1}}}]}", []string{
			`spec.containers[0].resources.requests[storage]: Invalid value: "storage": must be a standard resource for containers`}},
		{"a node named before the gates are open", "spec: {nodeName: node-1, schedulingGates: [{name: a}]}",
			[]string{"spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"}},
		{"a port without a number", "spec: {containers: [{" + box + ", ports: [{name: web}]}]}",
			[]string{"spec.containers[0].ports[0].containerPort: Required value"}},
		{"a probe that does nothing", "spec: {containers: [{" + box + ", livenessProbe: {}}]}",
			[]string{"spec.containers[0].livenessProbe: Required value: must specify a handler type"}},
		{"a probe of an init container", "spec: {initContainers: [{name: i, image: busybox, startupProbe: {exec: {command: [ls]}}}]}",
			[]string{"spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always"}},
	})
}

func TestAPodsVolumesAreRefusedInTheWordsOfTheRealServer(t *testing.T) {
	// One volume that no container mounts, so that only the volume is wrong.
	volume := func(source string) string {
		return "spec: {containers: [{name: c, image: busybox}], volumes: [{name: v0, " + source + "}]}"
	}
	refusesNew(t, apitest.GoodPod, []refusal{
		{"a claim without a name", volume("persistentVolumeClaim: {claimName: ''}"),
			[]string{"spec.volumes[0].persistentVolumeClaim.claimName: Required value"}},
		{"two sources", volume("emptyDir: {}, hostPath: {path: /a}"),
			[]string{"spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"}},
		{"a claim and a host path", volume("hostPath: {path: /a}, persistentVolumeClaim: {claimName: data}"),
			[]string{"spec.volumes[0].persistentVolumeClaim: Forbidden: may not specify more than 1 volume type"}},
		{"two volumes of one name", "spec: {volumes: [{name: v0, emptyDir: {}}, {name: v0, emptyDir: {}}]}",
			[]string{`spec.volumes[1].name: Duplicate value: "v0"`}},
		{"a host path that climbs", volume("hostPath: {path: /var/../etc}"),
			[]string{`spec.volumes[0].hostPath.path: Invalid value: "/var/../etc": must not contain '..'`}},
		{"an unknown host path type", volume("hostPath: {path: /a, type: Disk}"), []string{`spec.volumes[0].hostPath.type: Unsupported value: "Disk": ` +
			`supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`}},
		{"an emptyDir of less than nothing", volume("emptyDir: {sizeLimit: -1}"),
			[]string{"spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"}},
		{"a file of a ConfigMap outside its volume", volume("configMap: {name: m, items: [{key: a, path: ../a}]}"),
			[]string{`spec.volumes[0].configMap.items[0].path: Invalid value: "../a": must not contain '..'`}},
		{"a file of a Secret at an absolute path", volume("secret: {secretName: s, items: [{key: a, path: /a}]}"),
			[]string{`spec.volumes[0].secret.items[0].path: Invalid value: "/a": must be a relative path`}},
		{"a file named as the kubelet's own", volume("secret: {secretName: s, items: [{key: a, path: ..data}]}"),
			[]string{`spec.volumes[0].secret.items[0].path: Invalid value: "..data": must not start with '..'`}},
		{"a file mode out of range", volume("configMap: {name: m, defaultMode: 512}"),
			[]string{"spec.volumes[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive"}},
		{"a downward file with nothing in it", volume("downwardAPI: {items: [{path: a}]}"),
			[]string{"spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"}},
		{"two projected files at one path",
			volume("projected: {sources: [{configMap: {name: a, items: [{key: k, path: p}]}}, {secret: {name: b, items: [{key: k, path: p}]}}]}"),
			[]string{`spec.volumes[0].projected: Invalid value: "b": conflicting duplicate paths`}},
		{"a token in no file", volume("projected: {sources: [{serviceAccountToken: {expirationSeconds: 5}}]}"), []string{
			"spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
			"spec.volumes[0].projected.path: Required value"}},
		{"an ephemeral volume without a template", volume("ephemeral: {}"), []string{"spec.volumes[0].ephemeral.volumeClaimTemplate: Required value"}},
		{"an ephemeral volume whose claim is bad", volume("ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}"),
			[]string{"spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value"}},
		{"a CSI volume without a driver's name", volume("csi: {driver: X_Y}"),
			[]string{`spec.volumes[0].csi.driver: Invalid value: "X_Y": a lowercase RFC 1123 subdomain must ` +
				`consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', ` +
				`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
	})
}

func TestAPodsMountsAreRefusedInTheWordsOfTheRealServer(t *testing.T) {
	mounts := func(mounts string) string {
		return "spec: {containers: [{name: c, image: busybox, volumeMounts: [" + mounts + "]}]}"
	}
	devices := func(devices string) string {
		return "spec: {volumes: [{name: v0, persistentVolumeClaim: {claimName: data}}, {name: e, emptyDir: {}}], " +
			"containers: [{name: c, image: busybox, volumeDevices: [" + devices + "]}]}"
	}
	const at = "spec.containers[0].volumeMounts"
	refusesNew(t, apitest.GoodPod, []refusal{
		{"of a volume that is not there", mounts("{name: v1, mountPath: /a}"), []string{at + `[0].name: Not found: "v1"`}},
		{"without a path", mounts("{name: v0}"), []string{at + "[0].mountPath: Required value"}},
		{"twice at one path", mounts("{name: v0, mountPath: /a}, {name: v0, mountPath: /a}"),
			[]string{at + `[1].mountPath: Invalid value: "/a": must be unique`}},
		{"of a part outside the volume", mounts("{name: v0, mountPath: /a, subPath: ../b}"),
			[]string{at + `.subPath: Invalid value: "../b": must not contain '..'`}},
		{"of a part with an absolute path", mounts("{name: v0, mountPath: /a, subPath: /b}"),
			[]string{at + `.subPath: Invalid value: "/b": must be a relative path`}},
		{"of two parts at once", mounts("{name: v0, mountPath: /a, subPath: a, subPathExpr: b}"),
			[]string{at + `[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive`}},
		{"that reach the host without privilege", mounts("{name: v0, mountPath: /a, mountPropagation: Bidirectional}"),
			[]string{at + ".mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers"}},
		{"of a block device that is no claim", devices("{name: e, devicePath: /dev/a}"), []string{`spec.containers[0].volumeDevices[0].name: ` +
			`Invalid value: "e": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`}},
		{"of a block device that climbs", devices("{name: v0, devicePath: /dev/../a}"),
			[]string{`spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/dev/../a": can not contain backsteps ('..')`}},
		{"of a block device that is not there", devices("{name: gone, devicePath: /dev/a}"),
			[]string{`spec.containers[0].volumeDevices[0].name: Not found: "gone"`}},
	})
}

// Of several mounts of one volume the last counts against a device, and the other way round.
func TestOnlyTheLastMountOfAVolumeIsInADevicesWay(t *testing.T) {
	both := func(mounts, devices string) string {
		return "spec: {volumes: [{name: v0, persistentVolumeClaim: {claimName: data}}, {name: v1, persistentVolumeClaim: {claimName: data}}], " +
			"containers: [{name: c, image: busybox, volumeMounts: [" + mounts + "], volumeDevices: [" + devices + "]}]}"
	}
	const (
		mount  = `spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/x": must not already exist as a path in volumeDevices`
		device = `spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/x": must not already exist as a path in volumeMounts`
	)
	refusesNew(t, apitest.GoodPod, []refusal{
		{"the last mount", both("{name: v0, mountPath: /x}", "{name: v1, devicePath: /x}"), []string{mount, device}},
		{"an earlier mount", both("{name: v0, mountPath: /x}, {name: v0, mountPath: /y}", "{name: v1, devicePath: /x}"), []string{mount}},
	})
}

func TestAPodMayChangeOnlyWhatItRuns(t *testing.T) {
	fixed := []string{"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
		"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"}
	for _, row := range []struct {
		name           string
		stored, change func(*v1.PodSpec)
		want           []string
	}{
		{"its image", nil, func(s *v1.PodSpec) { s.Containers[0].Image = "busybox:2" }, nil},
		{"not its node", nil, func(s *v1.PodSpec) { s.NodeName = "node-1" }, fixed},
		{"not its volumes", nil, func(s *v1.PodSpec) { s.Volumes[0].PersistentVolumeClaim.ClaimName = "other" }, fixed},
		{"not the number of containers", nil,
			func(s *v1.PodSpec) {
				s.Containers = append(s.Containers, *s.Containers[0].DeepCopy())
				s.Containers[1].Name = "d"
			},
			[]string{"spec.containers: Forbidden: pod updates may not add or remove containers"}},
		{"a first deadline", nil, func(s *v1.PodSpec) { s.ActiveDeadlineSeconds = ptr(int64(5)) }, nil},
		{"not a later deadline", func(s *v1.PodSpec) { s.ActiveDeadlineSeconds = ptr(int64(5)) },
			func(s *v1.PodSpec) { s.ActiveDeadlineSeconds = ptr(int64(6)) },
			[]string{"spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"}},
		{"not the deadline to none", func(s *v1.PodSpec) { s.ActiveDeadlineSeconds = ptr(int64(5)) },
			func(s *v1.PodSpec) { s.ActiveDeadlineSeconds = nil },
			[]string{"spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"}},
		{"one more toleration", nil,
			func(s *v1.PodSpec) {
				s.Tolerations = append(s.Tolerations, v1.Toleration{Key: "a", Operator: v1.TolerationOpExists})
			}, nil},
		{"not a toleration less", func(s *v1.PodSpec) { s.Tolerations = []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists}} },
			func(s *v1.PodSpec) { s.Tolerations = nil },
			[]string{"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"}},
		{"the grace period from below zero to one", func(s *v1.PodSpec) { s.TerminationGracePeriodSeconds = ptr(int64(-1)) },
			func(s *v1.PodSpec) { s.TerminationGracePeriodSeconds = ptr(int64(1)) }, nil},
		{"not the grace period otherwise", nil, func(s *v1.PodSpec) { s.TerminationGracePeriodSeconds = ptr(int64(1)) }, fixed},
		{"a scheduling gate less", func(s *v1.PodSpec) { s.SchedulingGates = []v1.PodSchedulingGate{{Name: "a"}} },
			func(s *v1.PodSpec) { s.SchedulingGates = nil }, nil},
		{"not a scheduling gate more", nil, func(s *v1.PodSpec) { s.SchedulingGates = []v1.PodSchedulingGate{{Name: "a"}} },
			[]string{"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'"}},
		{"the nodes of a gated pod, narrowed", func(s *v1.PodSpec) { s.SchedulingGates = []v1.PodSchedulingGate{{Name: "a"}} },
			func(s *v1.PodSpec) { s.NodeSelector = map[string]string{"zone": "a"} }, nil},
		{"not the nodes of a pod without gates", nil, func(s *v1.PodSpec) { s.NodeSelector = map[string]string{"zone": "a"} }, fixed},
	} {
		t.Run(row.name, func(t *testing.T) {
			old := apitest.Created(t, apitest.GoodPod).(*v1.Pod)
			if row.stored != nil {
				row.stored(&old.Spec)
			}
			pod := old.DeepCopy()
			row.change(&pod.Spec)
			require.Equal(t, row.want, apitest.Words(update(pod, old)))
		})
	}
}

func TestAPodsStatusMayNotRewriteHistory(t *testing.T) {
	old := apitest.Created(t, apitest.GoodPod, "spec: {restartPolicy: Never}").(*v1.Pod)
	old.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}}}
	pod := old.DeepCopy()
	pod.Status.QOSClass = v1.PodQOSGuaranteed
	pod.Status.NominatedNodeName = "No_Node"
	pod.Status.ContainerStatuses[0].State = v1.ContainerState{Running: &v1.ContainerStateRunning{}}
	got := apitest.Words(updateStatus(pod, old))
	require.Len(t, got, 3)
	require.Contains(t, got[0], `status.nominatedNodeName: Invalid value: "No_Node": a lowercase RFC 1123 subdomain`)
	require.Equal(t, `status.qosClass: Invalid value: "Guaranteed": field is immutable`, got[1])
	require.Equal(t, "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state", got[2])
}
