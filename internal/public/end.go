package public

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/podstatus"
)

// Outcome holds the end of a run.
type Outcome struct {
	Exit     int
	Output   string // standard error
	Objects  []unstructured.Unstructured
	StandIns []string
	Takes    []string
}

// Check returns the expectations of a row that an outcome does not meet, each with what there is instead.
func (r *Row) Check(o *Outcome) (problems []string) {
	for _, end := range r.Ends {
		if problem := kinds[end.Kind](o, end.Text); problem != "" {
			problems = append(problems, fmt.Sprintf("%s %s: %s", end.Kind, end.Text, problem))
		}
	}
	for kind, have := range map[string][]string{"stand-in": o.StandIns, "takes": o.Takes} {
		for _, name := range have {
			if !slices.ContainsFunc(r.Ends, func(e End) bool { return e.Kind == kind && e.Text == name }) {
				problems = append(problems, fmt.Sprintf("%s %s: the row does not say so", kind, name))
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// Has reports whether a row says that something stands in, or that a program is taken to run.
func (r *Row) Has(kind string) bool {
	return slices.ContainsFunc(r.Ends, func(e End) bool { return e.Kind == kind })
}

// kinds are the words of expectations. A function returns what there is instead, or "".
var kinds map[string]func(o *Outcome, text string) string

func init() {
	kinds = map[string]func(o *Outcome, text string) string{
		"exit": func(o *Outcome, text string) string {
			if strconv.Itoa(o.Exit) == text {
				return ""
			}
			return fmt.Sprintf("it is %d", o.Exit)
		},
		"says": func(o *Outcome, text string) string {
			for line := range strings.Lines(o.Output) {
				if matches(text, strings.TrimSpace(line)) {
					return ""
				}
			}
			return "no line does; " + strings.TrimSpace(o.Output)
		},
		"stand-in": func(o *Outcome, text string) string { return within(text, o.StandIns) },
		"takes":    func(o *Outcome, text string) string { return within(text, o.Takes) },
		"event":    (*Outcome).event,
		"pvc":      ofKind("PersistentVolumeClaim", claim),
		"pv":       ofKind("PersistentVolume", volume),
		"pod":      ofKind("Pod", pod),
		"deploy":   ofKind("Deployment", deployment),
		"sts":      ofKind("StatefulSet", statefulSet),
		"ds":       ofKind("DaemonSet", daemonSet),
		"job":      ofKind("Job", job),
		"snapshot": ofKind("VolumeSnapshot", snapshot),
	}
}

func within(name string, all []string) string {
	if slices.Contains(all, name) {
		return ""
	}
	return fmt.Sprintf("there are %q", all)
}

// matches compares a text with a pattern in which * is any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$").MatchString(text)
}

// ofKind returns the check of a line "NAME STATE [OTHER] [xN]". state returns the words of an object with which STATE and OTHER
// are compared.
func ofKind(kind string, state func(u *unstructured.Unstructured) []string) func(o *Outcome, text string) string {
	return func(o *Outcome, text string) string {
		words := strings.Fields(text)
		wanted := 0
		if last := words[len(words)-1]; strings.HasPrefix(last, "x") {
			if n, err := strconv.Atoi(last[1:]); err == nil {
				wanted, words = n, words[:len(words)-1]
			}
		}
		found := 0
		var others []string
		for i := range o.Objects {
			u := &o.Objects[i]
			if u.GetKind() != kind || !named(words[0], u.GetNamespace(), u.GetName()) {
				continue
			}
			have := state(u)
			if !equal(words[1:], have) {
				others = append(others, fmt.Sprintf("%s is %s", u.GetName(), strings.Join(have, " ")))
				continue
			}
			found++
		}
		switch {
		case wanted > 0 && found != wanted:
			return fmt.Sprintf("%d are so; %s", found, strings.Join(others, ", "))
		case wanted == 0 && (found == 0 || len(others) > 0):
			return strings.Join(append(others, fmt.Sprintf("%d are so", found)), ", ")
		}
		return ""
	}
}

// equal compares the words of a line with those of an object, which may have more.
func equal(wanted, have []string) bool {
	for i, w := range wanted {
		if i >= len(have) || !matches(w, have[i]) {
			return false
		}
	}
	return true
}

func named(pattern, namespace, name string) bool {
	if ns, rest, ok := strings.Cut(pattern, "/"); ok {
		return ns == namespace && matches(rest, name)
	}
	return (namespace == "" || namespace == "default") && matches(pattern, name)
}

// event checks a line "KIND/NAME REASON MESSAGE".
func (o *Outcome) event(text string) string {
	about, rest, _ := strings.Cut(text, " ")
	reason, message, _ := strings.Cut(rest, " ")
	kind, name, _ := strings.Cut(about, "/")
	var others []string
	for i := range o.Objects {
		if o.Objects[i].GetKind() != "Event" {
			continue
		}
		e := as[v1.Event](&o.Objects[i])
		if e.InvolvedObject.Kind != kind || !named(name, e.InvolvedObject.Namespace, e.InvolvedObject.Name) {
			continue
		}
		if matches(reason, e.Reason) && matches(message, e.Message) {
			return ""
		}
		others = append(others, e.Reason+" "+e.Message)
	}
	return fmt.Sprintf("there are %q", others)
}

func as[T any](u *unstructured.Unstructured) *T {
	obj := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
		panic(err) // the simulation printed what no client could read
	}
	return obj
}

func claim(u *unstructured.Unstructured) []string {
	c := as[v1.PersistentVolumeClaim](u)
	return []string{string(c.Status.Phase), c.Spec.VolumeName}
}

func volume(u *unstructured.Unstructured) []string {
	pv := as[v1.PersistentVolume](u)
	if pv.Spec.ClaimRef == nil {
		return []string{string(pv.Status.Phase)}
	}
	return []string{string(pv.Status.Phase), path.Join(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)}
}

func pod(u *unstructured.Unstructured) []string {
	p := as[v1.Pod](u)
	return []string{podState(p), p.Spec.NodeName}
}

// podState returns the word for a pod's state: its phase, Ready, NotReady, or why a container waits.
func podState(p *v1.Pod) string {
	if p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed || p.Spec.NodeName == "" {
		return string(p.Status.Phase)
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "PodInitializing" {
			return c.State.Waiting.Reason
		}
	}
	if podstatus.IsReady(p) {
		return "Ready"
	}
	return "NotReady"
}

func of(ready, wanted int32) []string { return []string{fmt.Sprintf("%d/%d", ready, wanted)} }

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func deployment(u *unstructured.Unstructured) []string {
	d := as[appsv1.Deployment](u)
	return of(d.Status.ReadyReplicas, replicas(d.Spec.Replicas))
}

func statefulSet(u *unstructured.Unstructured) []string {
	s := as[appsv1.StatefulSet](u)
	return of(s.Status.ReadyReplicas, replicas(s.Spec.Replicas))
}

func daemonSet(u *unstructured.Unstructured) []string {
	d := as[appsv1.DaemonSet](u)
	return of(d.Status.NumberReady, d.Status.DesiredNumberScheduled)
}

func job(u *unstructured.Unstructured) []string {
	j := as[batchv1.Job](u)
	return of(j.Status.Succeeded, replicas(j.Spec.Completions))
}

func snapshot(u *unstructured.Unstructured) []string {
	if ready, _, _ := unstructured.NestedBool(u.Object, "status", "readyToUse"); ready {
		return []string{"ready"}
	}
	return []string{"waits"}
}
