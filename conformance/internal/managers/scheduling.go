package managers

import (
	"fmt"
	"strings"
	"time"

	"github.com/storagesim/storagesim"
)

// pod returns the manifest of a pod with so much CPU, with labels and more of its spec.
func pod(name, cpu, labels, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {%s}}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity], resources: {requests: {cpu: %s}}}]%s
---
`, name, labels, cpu, indent(2, more))
}

// withPort is a pod that listens on a port of its node.
const withPort = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity], ports: [{containerPort: 80, hostPort: 8080}]}]
`

func schedulingScenarios() []Scenario {
	two := func() []storagesim.Node { return []storagesim.Node{small("node-1"), small("node-2")} }
	return []Scenario{
		{Name: "scheduling-no-room", Nodes: two(), Steps: []Step{
			Apply("pods", pod("a", "800m", "", "nodeSelector: {kubernetes.io/hostname: node-1}")+pod("b", "800m", "", "nodeSelector: {kubernetes.io/hostname: node-2}")),
			Apply("one more", pod("c", "500m", "", "")), Delete("pod/b"),
		}},
		{Name: "scheduling-several-reasons", Nodes: two(), Steps: []Step{
			Patch("a taint", nodes, "node-1", `{"spec":{"taints":[{"key":"only","value":"others","effect":"NoSchedule"}]}}`),
			Patch("a cordon", nodes, "node-2", `{"spec":{"unschedulable":true}}`),
			Apply("a pod", pod("a", "500m", "", "")), Patch("no cordon", nodes, "node-2", `{"spec":{"unschedulable":null}}`),
		}},
		{Name: "scheduling-affinity", Nodes: two(), Steps: []Step{
			Apply("to no pod", pod("a", "100m", "app: a",
				"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: "+
					"{matchLabels: {app: b}}}]}}")),
			Apply("to itself", pod("self", "100m", "app: self",
				"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: "+
					"self}}}]}}\nnodeSelector: {kubernetes.io/hostname: node-1}")),
			Apply("a key that no node has", pod("c", "100m", "app: c",
				"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: nowhere, labelSelector: {matchLabels: {app: self}}}]}}")),
			Apply("whom the first waits for", pod("b", "100m", "app: b", "nodeSelector: {kubernetes.io/hostname: node-2}")),
		}},
		{Name: "scheduling-anti-affinity", Nodes: two(), Steps: []Step{
			Apply("three that avoid each other", workload("ReplicaSet", "web", "replicas: 3",
				"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: "+
					"{app: web}}}]}}\n"+
					"nodeSelector: {kubernetes.io/hostname: node-1}")),
			Apply("one that the others avoid", pod("web", "100m", "app: web", "nodeSelector: {kubernetes.io/hostname: node-1}")),
		}},
		{Name: "scheduling-spread", Nodes: two(), Steps: []Step{
			Apply("one on each", workload("ReplicaSet", "web", "replicas: 2",
				"topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: "+
					"{matchLabels: {app: web}}}]")),
			Patch("one node is cordoned", nodes, "node-2", `{"spec":{"unschedulable":true}}`), Patch("two more", replicaSets, "web", `{"spec":{"replicas":4}}`, "scale"),
			Patch("no cordon", nodes, "node-2", `{"spec":{"unschedulable":null}}`),
		}},
		{Name: "scheduling-preferences", Nodes: two(), Steps: []Step{
			Apply("a pod on node-2", pod("a", "100m", "app: a", "nodeSelector: {kubernetes.io/hostname: node-2}")),
			Apply("near it", pod("b", "100m", "app: b",
				"affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, "+
					"labelSelector: {matchLabels: {app: a}}}}]}}")),
			Apply("far from it", pod("c", "100m", "app: c",
				"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, "+
					"labelSelector: {matchLabels: {app: a}}}}]}}")),
			Apply("on node-1 rather", pod("d", "100m", "app: d",
				"affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, "+
					"operator: In, values: [node-1]}]}}]}}")),
		}},
		{Name: "scheduling-ports", Nodes: two()[:1], Steps: []Step{
			Apply("a port of the node", strings.Replace(withPort, "NAME", "b", 1)), Apply("once more", strings.Replace(withPort, "NAME", "c", 1)), Delete("pod/b"),
		}},
		{Name: "scheduling-gate", Steps: []Step{
			Apply("a pod with a gate", pod("a", "100m", "", "schedulingGates: [{name: example.com/wait}]")),
			Patch("no gate", pods, "a", `{"spec":{"schedulingGates":null}}`),
		}},
		{Name: "scheduling-by-another", Steps: []Step{Apply("a pod", pod("a", "100m", "", "schedulerName: none"))}},
	}
}

const priorities = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: low}
value: 10
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: polite}
value: 1000
preemptionPolicy: Never
---
`

func preemptionScenarios() []Scenario {
	two := func() []storagesim.Node { return []storagesim.Node{small("node-1"), small("node-2")} }
	return []Scenario{
		{Name: "preemption-of-the-lower", Nodes: two(), Steps: []Step{
			Apply("two pods", priorities+pod("a", "800m", "", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}")+
				pod("b", "800m", "", "priorityClassName: high\nnodeSelector: {kubernetes.io/hostname: node-2}")),
			Apply("a higher one", pod("c", "800m", "", "priorityClassName: high")),
			Apply("a lower one", pod("d", "800m", "", "priorityClassName: low")),
		}},
		{Name: "preemption-waits-for-its-victim", Nodes: two()[:1], Steps: []Step{
			Apply("a pod that takes its time", priorities+
				strings.Replace(pod("a", "800m", "", "priorityClassName: low"), "terminationGracePeriodSeconds: 0", "terminationGracePeriodSeconds: 12", 1)),
			Apply("a higher one", pod("c", "800m", "", "priorityClassName: high")),
			Apply("a lower one", pod("b", "800m", "", "priorityClassName: low")),
			{Name: "the victim is gone", Do: func(*User) error { return nil }, Wait: 12 * time.Second},
		}},
		{Name: "preemption-of-as-few-as-possible", Nodes: two(), Steps: []Step{
			Apply("pods", priorities+pod("a", "400m", "", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}")+
				pod("b", "400m", "", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}")+
				pod("c", "800m", "", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-2}")),
			Apply("a higher one for a whole node", pod("d", "900m", "", "priorityClassName: high")),
		}},
		{Name: "preemption-never", Nodes: two(), Steps: []Step{
			Apply("pods", priorities+pod("a", "800m", "", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}")+
				pod("b", "800m", "", "nodeSelector: {kubernetes.io/hostname: node-2}")),
			Apply("a higher one that waits", pod("c", "800m", "", "priorityClassName: polite")),
		}},
		{Name: "preemption-helps-nothing", Nodes: two(), Steps: []Step{
			Apply("pods", priorities+pod("a", "800m", "", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}")),
			Apply("one that is too big", pod("c", "3", "", "priorityClassName: high")),
			Apply("one for no node", pod("d", "1", "", "priorityClassName: high\nnodeSelector: {'no': node}")),
		}},
		{Name: "preemption-respects-a-budget", Nodes: two(), Steps: []Step{
			Apply("pods and a budget", priorities+pod("a", "800m", "app: safe", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}")+
				pod("b", "800m", "app: any", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-2}")+
				"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: safe}\nspec: {minAvailable: 1, selector: {matchLabels: {app: safe}}}"),
			Apply("a higher one", pod("c", "800m", "", "priorityClassName: high")),
			Apply("and another, for which the budget is broken", pod("d", "800m", "", "priorityClassName: high")),
		}},
		{Name: "preemption-of-the-holder", Nodes: two(), Steps: []Step{
			Apply("a volume", priorities+volume("pv-1", "accessModes: [ReadWriteOncePod]")), Apply("a claim for one pod", oncePod),
			Apply("its pod", user("p", "data", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}")),
			Apply("a higher one", user("q", "data", "priorityClassName: high\nnodeSelector: {kubernetes.io/hostname: node-1}")),
			Apply("a lower one", user("r", "data", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}")),
		}},
		{Name: "preemption-of-those-that-avoid-it", Nodes: two(), Steps: []Step{
			Apply("pods", priorities+pod("a", "100m", "app: a", "priorityClassName: low\nnodeSelector: {kubernetes.io/hostname: node-1}\n"+
				"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: "+
				"{matchLabels: {app: c}}}]}}")),
			Apply("a higher one", pod("c", "100m", "app: c", "priorityClassName: high\nnodeSelector: {kubernetes.io/hostname: node-1}")),
		}},
	}
}
