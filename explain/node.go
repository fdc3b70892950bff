package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/storagesim/storagesim/binding"
)

// node explains a node: whether it answers, and what it does not take.
func (x *explainer) node(name string) error {
	node, err := x.Client.CoreV1().Nodes().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return x.within("node/"+name, func() error {
		x.found.Objects = append(x.found.Objects, x.subject)
		ready := readyCondition(node)
		state := "not ready"
		switch {
		case ready.Status == v1.ConditionTrue:
			state = "ready"
		case ready.Status == v1.ConditionUnknown:
			state = "unreachable"
		}
		if node.Spec.Unschedulable {
			state += " and cordoned"
		}
		x.setState(state == "ready", "%s", state)
		x.say("node %s is %s%s", name, state, because(ready.Message))
		if node.Spec.Unschedulable {
			x.blame(Verdict{Class: Waits, Code: Cordoned, Field: "spec.unschedulable", Value: "true", Do: "uncordon it", Cause: "it takes no new pods"})
		}
		for _, taint := range node.Spec.Taints {
			x.say("  it has the taint %s", taint.ToString())
		}
		switch _, runs := x.Kubelets[name]; {
		case ready.Status != v1.ConditionTrue:
			x.deadNode(name)
		case !runs:
			x.say("  no kubelet of this cluster runs on it")
		default:
			x.needs("kubelet/"+name, "runs the pods of "+name)
		}
		x.unregisteredOn(name)
		x.events(x.subject, "Node", node.UID, "")
		return x.podsOn(name)
	})
}

// unregisteredOn says which CSI drivers run on a node and are not registered there, and why.
func (x *explainer) unregisteredOn(name string) {
	for _, actor := range x.Actors {
		driver, ok := strings.CutSuffix(strings.TrimPrefix(actor, "csi-driver/"), "/"+name)
		if !ok || !strings.HasPrefix(actor, "csi-driver/") {
			continue
		}
		found := len(x.findings)
		x.unregistered(driver, name)
		x.findings = x.findings[:found] // the node itself is well
	}
}

// podsOn counts the pods of a node and names its local volumes.
func (x *explainer) podsOn(name string) error {
	pods, err := x.Client.CoreV1().Pods(metav1.NamespaceAll).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var here []string
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Spec.NodeName == name && !binding.IsPodTerminated(pod) {
			here = append(here, pod.Namespace+"/"+pod.Name)
		}
	}
	if len(here) > 0 {
		x.say("  pods on it: %s", strings.Join(here, ", "))
	}
	return nil
}

func readyCondition(node *v1.Node) v1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c
		}
	}
	return v1.NodeCondition{}
}

// nodeIsDead reports whether a node is there and does not answer: its Ready condition is not True.
func (x *explainer) nodeIsDead(name string) bool {
	node, err := x.Client.CoreV1().Nodes().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	ready := readyCondition(node)
	return ready.Type != "" && ready.Status != v1.ConditionTrue
}

// deadNode blames a node that does not answer, and its kubelet if that is down.
func (x *explainer) deadNode(name string) {
	node, err := x.Client.CoreV1().Nodes().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	x.blame(Verdict{
		Class: Ill, Code: NodeUnreachable, Object: "node/" + name, Field: "status.conditions[Ready]", Value: string(readyCondition(node).Status), Want: "True",
		Cause: fmt.Sprintf("node %s %s", name, x.silentFor(node)), Do: x.wakeUp(name),
	})
}

// silentFor says since when a node is not ready.
func (x *explainer) silentFor(node *v1.Node) string {
	ready := readyCondition(node)
	word := "has not been ready"
	if ready.Status == v1.ConditionUnknown {
		word = "has been unreachable"
	}
	return fmt.Sprintf("%s for %s", word, duration.HumanDuration(x.Now.Sub(ready.LastTransitionTime.Time)))
}

// starting says how an actor that is down is started: with its machine, if that is switched off.
func (x *explainer) starting(actor string) string {
	if x.Off != nil {
		if machine := x.Off(actor); machine != "" {
			return "start " + machine
		}
	}
	return "start " + actor
}

// wakeUp says how to get a node back.
func (x *explainer) wakeUp(name string) string {
	if _, down := x.Down["kubelet/"+name]; down {
		return x.starting("kubelet/" + name)
	}
	if slices.Contains(x.Actors, "kubelet/"+name) {
		return "mend its connection to the API server"
	}
	return "start its kubelet"
}

// lostNode says what a pod on a node that does not answer waits for, and the three ways on.
func (x *explainer) lostNode(pod *v1.Pod, name string) {
	node, err := x.Client.CoreV1().Nodes().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return
	}
	shows := "its status shows what the kubelet said last"
	if pod.DeletionTimestamp != nil {
		shows = "no kubelet there ends the pod"
	}
	x.blame(Verdict{
		Class: Ill, Code: NodeUnreachable, Object: "node/" + name, Field: "status.conditions[Ready]", Value: string(readyCondition(node).Status), Want: "True",
		Cause: fmt.Sprintf("its node %s %s; %s", name, x.silentFor(node), shows),
		Do: fmt.Sprintf("one of three: %s; or, if the machine is down for good, taint it %s=nodeshutdown:NoExecute; or delete the pod by force and know that its "+
			"program may still write",
			x.wakeUp(name), v1.TaintNodeOutOfService),
	})
}
