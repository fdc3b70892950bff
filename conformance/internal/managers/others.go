package managers

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
)

func budgetScenarios() []Scenario {
	budget := func(name, spec string) Step {
		return Apply("a budget "+name, fmt.Sprintf("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %s}\nspec: {%s}", name, spec))
	}
	web := func(replicas int) Step {
		return Apply("a Deployment", workload("Deployment", "web", fmt.Sprint("replicas: ", replicas), ""))
	}
	const app = "selector: {matchLabels: {app: web}}"
	return []Scenario{
		{Name: "budget-min-available", Steps: []Step{web(3), budget("pdb", "minAvailable: 2, "+app), Evict("evict", "app=web"),
			Patch("scale", deployments, "web", `{"spec":{"replicas":2}}`), Evict("evict again", "app=web")}},
		{Name: "budget-max-unavailable", Steps: []Step{budget("pdb", "maxUnavailable: 50%, "+app), web(3), Delete("deployment/web")}},
		{Name: "budget-of-no-pod", Steps: []Step{budget("pdb", "minAvailable: 1, selector: {matchLabels: {app: none}}"), Delete("pdb/pdb")}},
		{Name: "budget-of-lone-pods", Steps: []Step{
			Apply("a pod", "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\nspec: {terminationGracePeriodSeconds: 0, containers: ["+
				container+"]}"),
			budget("percent", "minAvailable: 50%, "+app), Delete("pdb/percent"), budget("number", "minAvailable: 1, "+app), Evict("evict", "app=web"),
		}},
		{Name: "budget-two-for-one-pod",
			Steps: []Step{web(2), budget("one", "minAvailable: 0, "+app), budget("two", "minAvailable: 0, "+app), Evict("evict", "app=web")}},
		{Name: "budget-of-crashing-pods", Steps: []Step{
			Apply("a Deployment", workload("Deployment", "web", "replicas: 2", `containers: [{name: c, image: "busybox:1", command: [sh, -c, "exit 3"]}]`)),
			budget("pdb", "minAvailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow, "+app), Evict("evict", "app=web"),
		}},
	}
}

func quotaScenarios() []Scenario {
	quota := func(name, spec string) Step {
		return Apply("a quota "+name, fmt.Sprintf("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: %s}\nspec: {%s}", name, spec))
	}
	pod := func(name, more string) Step {
		return Apply("a pod "+name,
			fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  terminationGracePeriodSeconds: 0\n"+
				"  containers: [{name: c, image: \"busybox:1\", command: [sleep, infinity]%s}]", name, more))
	}
	const half = ", resources: {requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: 500m, memory: 128Mi}}"
	return []Scenario{
		{Name: "quota-counts", Steps: []Step{
			pod("a", half), quota("all",
				`hard: {pods: 2, requests.cpu: "1", limits.memory: 1Gi, persistentvolumeclaims: 1, requests.storage: 2Gi, secrets: 3, count/deployments.apps: 2}`),
			pod("b", half), pod("c", half), pod("d", ""), Delete("pod/a"), Apply("a claim", claim("data", "manual")),
			Apply("another claim", claim("more", "manual")), Delete("pvc/data"),
		}},
		{Name: "quota-scopes", Steps: []Step{
			quota("best", `hard: {pods: 1}, scopes: [BestEffort]`), quota("not", `hard: {pods: 1}, scopes: [NotBestEffort]`), pod("a", ""), pod("b", ""),
			pod("c", half), pod("d", half), Delete("pod/a"),
		}},
		{Name: "quota-of-finished-pods", Steps: []Step{
			quota("pods", "hard: {pods: 2, count/pods: 2, count/jobs.batch: 1}"), Apply("a Job", once("sleep 1", "")).For(4 * time.Second),
			Patch("another quota", quotas, "pods", `{"spec":{"hard":{"pods":"5"}}}`),
		}},
		{Name: "quota-of-priorities", Steps: []Step{
			Apply("priorities", priorities), quota("high",
				`hard: {pods: 1}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}`),
			Apply("a high pod", ranked("a", "high")), Apply("a low pod", ranked("b", "low")), Apply("another high pod", ranked("c", "high")), Delete("pod/a"),
		}},
		{Name: "quota-of-a-class", Steps: []Step{
			Apply("a class", class), quota("class",
				`hard: {manual.storageclass.storage.k8s.io/requests.storage: 3Gi, manual.storageclass.storage.k8s.io/persistentvolumeclaims: 2}`),
			Apply("a claim", claim("a", "manual")), Apply("of another class", claim("b", "other")), Delete("pvc/a"),
		}},
	}
}

// ranked returns the manifest of a pod with a priority class.
func ranked(name, class string) string { return pod(name, "100m", "", "priorityClassName: "+class) }

func deletionScenarios() []Scenario {
	const team = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\n"
	return []Scenario{
		{Name: "namespace-deleted", Steps: []Step{
			Apply("create", team+"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team}\nspec: {terminationGracePeriodSeconds: 0, containers: ["+
				container+"]}\n---\n"+
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\n"),
			Delete("namespace/team").For(12 * time.Second),
		}},
		{Name: "namespace-with-a-finalizer", Steps: []Step{
			Apply("create", team+"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team, finalizers: [example.com/keep]}\n"),
			Delete("namespace/team").For(12 * time.Second),
		}},
		{Name: "collector-foreground", Steps: []Step{
			Apply("create", workload("Deployment", "web", "replicas: 2", "")),
			DeleteWith("delete in the foreground", metav1.DeletePropagationForeground, deployments, "web"),
		}},
		{Name: "collector-owner-that-is-none", Steps: []Step{
			Apply("create", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: gone, uid: "+
				"00000000-0000-0000-0000-000000000001}]}\nspec: {schedulingGates: [{name: example.com/wait}], terminationGracePeriodSeconds: 0, containers: ["+
				container+"]}"),
		}},
		{Name: "taint-evicts", Nodes: storagesim.Nodes("node-1", "node-2"), Steps: []Step{
			Apply("create", "apiVersion: v1\nkind: Pod\nmetadata: {name: stays}\nspec: {nodeName: node-1, tolerations: [{operator: Exists}], "+
				"terminationGracePeriodSeconds: 0, containers: ["+container+"]}\n---\n"+
				"apiVersion: v1\nkind: Pod\nmetadata: {name: later}\nspec: {nodeName: node-1, tolerations: [{key: out, operator: Exists, effect: NoExecute, "+
				"tolerationSeconds: 4}], terminationGracePeriodSeconds: 0, containers: ["+container+"]}\n---\n"+
				"apiVersion: v1\nkind: Pod\nmetadata: {name: goes}\nspec: {nodeName: node-1, terminationGracePeriodSeconds: 0, containers: ["+container+"]}"),
			Patch("taint", nodes, "node-1", `{"spec":{"taints":[{"key":"out","effect":"NoExecute"}]}}`),
			{Name: "later", Do: func(*User) error { return nil }, Wait: 6 * time.Second},
		}},
	}
}

const class = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: manual}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
`

func volume(name, more string) string {
	if !strings.Contains(more, "accessModes") {
		more = strings.TrimSuffix("accessModes: [ReadWriteOnce]\n"+more, "\n")
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  capacity: {storage: 1Gi}
  storageClassName: manual
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /tmp/%[1]s}%s
---
`, name, indent(2, more))
}

func claim(name, class string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec: {accessModes: [ReadWriteOnce], storageClassName: %s, resources: {requests: {storage: 1Gi}}}
---
`, name, class)
}

// oncePod is a claim for one pod at a time.
const oncePod = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOncePod], storageClassName: manual, resources: {requests: {storage: 1Gi}}}
`

// user returns the manifest of a pod that uses a claim, with more of its spec.
func user(name, claim, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity], volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}]%s
---
`, name, claim, indent(2, more))
}

func volumeScenarios() []Scenario {
	const immediate = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: other}\nprovisioner: example.com/none\n---\n"
	on := func(node string) string {
		return "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [" + node + "]}]}]}}"
	}
	two := storagesim.Nodes("node-1", "node-2")
	return []Scenario{
		{Name: "volume-bound-at-once", Steps: []Step{
			Apply("a volume", volume("pv-1", "")), Apply("a claim", claim("data", "manual")), Apply("a pod", user("p", "data", "")), Delete("pvc/data"),
			Delete("pod/p"), Delete("pv/pv-1"),
		}},
		{Name: "volume-after-its-claim", Steps: []Step{Apply("a claim", claim("data", "manual")), Apply("a volume", volume("pv-1", "")).For(16 * time.Second)}},
		{Name: "volume-waits-for-consumer", Nodes: two, Steps: []Step{
			Apply("a class", class), Apply("a claim", claim("data", "manual")), Apply("a pod", user("p", "data", "")),
			Apply("a volume", volume("pv-1", on("node-2"))).For(16 * time.Second),
			Delete("pod/p"), Delete("pvc/data"),
		}},
		{Name: "volume-chooses-the-node", Nodes: two, Steps: []Step{
			Apply("a class", class), Apply("a volume", volume("pv-1", on("node-2"))), Apply("a claim", claim("data", "manual")),
			Apply("a pod", user("p", "data", "")).For(16 * time.Second),
			Apply("a second pod of another node", user("q", "data", "nodeSelector: {kubernetes.io/hostname: node-1}")),
		}},
		{Name: "volume-without-a-provisioner",
			Steps: []Step{Apply("a class", immediate), Apply("a claim", claim("data", "other")), Apply("a pod", user("p", "data", ""))}},
		{Name: "volume-without-a-class", Steps: []Step{Apply("a claim", claim("data", "missing")), Apply("a pod", user("p", "data", "")),
			Apply("a pod without a claim", user("q", "nothing", ""))}},
		{Name: "volume-once-in-a-pod", Steps: []Step{
			Apply("a volume", volume("pv-1", "accessModes: [ReadWriteOncePod]")), Apply("a claim for one pod", oncePod), Apply("a pod", user("p", "data", "")),
			Apply("a second pod", user("q", "data", "")), Delete("pod/p"),
		}},
		{Name: "volume-released", Steps: []Step{
			Apply("a volume for a claim", volume("pv-1", "claimRef: {namespace: default, name: data}")), Apply("the claim", claim("data", "manual")),
			Delete("pvc/data"), Apply("the claim again", claim("data", "manual")),
		}},
		{Name: "volume-of-zones", Nodes: []storagesim.Node{
			{Name: "node-1", Labels: map[string]string{"topology.kubernetes.io/zone": "a"}},
			{Name: "node-2", Labels: map[string]string{"topology.kubernetes.io/zone": "b"}},
		}, Steps: []Step{
			Apply("a volume of zone b", `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1, labels: {topology.kubernetes.io/zone: b}}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: manual, hostPath: {path: /tmp/pv-1}}
`), Apply("a claim", claim("data", "manual")), Apply("a pod", user("p", "data", "")),
			Apply("a pod for zone a", user("q", "data", "nodeSelector: {topology.kubernetes.io/zone: a}")),
		}},
		{Name: "volume-ephemeral", Steps: []Step{
			Apply("a volume", volume("pv-1", "")), Apply("a pod", `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity], volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], storageClassName: manual,
    resources: {requests: {storage: 1Gi}}}}}}]
`), Delete("pod/p"),
		}},
		{Name: "volume-grows", Steps: []Step{
			Apply("a class", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: manual}\nprovisioner: example.com/none\nallowVolumeExpansion: true\n"),
			Apply("a volume", volume("pv-1", "")), Apply("a claim", claim("data", "manual")),
			Patch("grow", claims, "data", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`),
		}},
	}
}
