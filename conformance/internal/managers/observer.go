package managers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/trace"
)

// Aside is a namespace that is not observed.
const Aside = "aside"

// Observer takes down what is in a cluster, without what differs from run to run.
type Observer struct {
	cluster *storagesim.Cluster

	mu    sync.Mutex
	last  time.Time         // the machine's, of the last write that counts
	names map[string]string // those that the server made, with what they have in common
	stems map[string]bool   // what they begin with
	uids  map[string]string // the object that has had each UID
}

// Observe begins to observe a cluster, which is not driven yet.
func Observe(cluster *storagesim.Cluster) *Observer {
	o := &Observer{cluster: cluster, last: time.Now(), names: map[string]string{}, stems: map[string]bool{}, uids: map[string]string{}}
	for _, obj := range cluster.Engine().Server().Objects(false) {
		o.learn(obj.GetObjectKind().GroupVersionKind().Kind, obj)
	}
	cluster.Engine().Server().OnWrite(o.onWrite)
	return o
}

func (o *Observer) onWrite(w trace.Write) {
	if w.Err != nil || w.Old == w.New || trace.IsHeartbeat(w.Old, w.New) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	if w.New != nil {
		o.learn(w.Kind, w.New)
	}
}

// Quiet says for how long, in the machine's time, nothing was written but signs of life.
func (o *Observer) Quiet() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.last)
}

// scheduled is the end of the names of CronJobs' Jobs: the minute for which they are.
var scheduled = regexp.MustCompile(`-\d{8,}$`)

// learn remembers what of an object was made by chance: its UID, and its name.
func (o *Observer) learn(kind string, obj runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil || o.uids[string(m.GetUID())] != "" {
		return
	}
	owner := metav1.GetControllerOf(m)
	switch {
	case m.GetGenerateName() != "" && strings.HasPrefix(m.GetName(), m.GetGenerateName()):
		o.names[m.GetName()] = o.hide(m.GetGenerateName()) + "*"
		o.stems[m.GetGenerateName()] = true
	case kind == "Job" && owner != nil && owner.Kind == "CronJob":
		o.names[m.GetName()] = scheduled.ReplaceAllString(m.GetName(), "-*")
	}
	if m.GetUID() != "" {
		o.uids[string(m.GetUID())] = kind + " " + o.hide(m.GetName())
	}
}

var (
	uid   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	token = regexp.MustCompile(`[a-z0-9]([-a-z0-9.]*[a-z0-9])?`)
	sum   = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	clock = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC|[-+]\d\d:\d\d)`)
	lasts = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b`)
)

// hide replaces in a text what was made by chance, and times.
func (o *Observer) hide(text string) string {
	text = uid.ReplaceAllStringFunc(text, func(id string) string {
		if of, known := o.uids[id]; known {
			return "<uid of " + of + ">"
		}
		return "<uid>" // of a process
	})
	text = sum.ReplaceAllString(text, "<hash>")
	text = clock.ReplaceAllString(text, "<time>")
	return token.ReplaceAllStringFunc(text, func(name string) string {
		if made, known := o.names[name]; known {
			return made
		}
		if stem := name[:max(0, len(name)-5)]; o.stems[stem] { // of an object that was refused
			return o.hide(stem) + "*"
		}
		return name
	})
}

// compared are the kinds that controllers write, or write to, in the order of their names.
var compared = []string{
	"ControllerRevision", "CronJob", "DaemonSet", "Deployment", "Job", "Namespace", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget",
	"ReplicaSet", "ReplicationController", "ResourceQuota", "StatefulSet", "VolumeAttachment",
}

// objects returns what is there: each object as its kind, its name and its JSON, sorted.
func (o *Observer) objects() ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for _, obj := range o.cluster.Engine().Server().Objects(false) {
		kind := obj.GetObjectKind().GroupVersionKind().Kind
		if !slices.Contains(compared, kind) {
			continue
		}
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		if kind == "Namespace" && builtIn(m.GetName()) || m.GetNamespace() == Aside {
			continue
		}
		fields, err := fieldsOf(obj)
		if err != nil {
			return nil, err
		}
		o.normalise(fields)
		delete(fields, "apiVersion")
		delete(fields, "kind")
		if metadata, ok := fields["metadata"].(map[string]any); ok {
			delete(metadata, "name")
			delete(metadata, "namespace")
		}
		text, err := jsonOf(fields)
		if err != nil {
			return nil, err
		}
		name := o.hide(m.GetName())
		if m.GetNamespace() != "" {
			name = m.GetNamespace() + "/" + name
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", kind, name, text))
	}
	slices.Sort(lines)
	return lines, nil
}

func builtIn(namespace string) bool {
	return namespace == metav1.NamespaceDefault || namespace == Aside || strings.HasPrefix(namespace, "kube-")
}

func fieldsOf(obj runtime.Object) (map[string]any, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	return fields, json.Unmarshal(text, &fields)
}

// jsonOf returns a value's JSON, in which < and > are as they are.
func jsonOf(value any) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// uncompared lists the fields that are not compared: those that differ from run to run, and defaults that the API server gives to each pod.
var uncompared = []string{
	"uid", "resourceVersion", "creationTimestamp", "managedFields", "podIP", "podIPs", "hostIP", "hostIPs", "containerID", "imageID",
	"kubectl.kubernetes.io/last-applied-configuration", "storage.kubernetes.io/csiProvisionerIdentity",
	"terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "dnsPolicy", "securityContext", "enableServiceLinks", "lastProbeTime",
}

// normalise changes a decoded object so that two runs can be compared, and returns it: it removes the uncompared fields, sorts the conditions
// and hides names that differ.
func (o *Observer) normalise(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range uncompared {
			delete(value, key)
		}
		for key, field := range value {
			value[key] = o.normalise(field)
		}
		if list, ok := value["conditions"].([]any); ok {
			slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(typeOf(a), typeOf(b)) })
		}
	case []any:
		for i := range value {
			value[i] = o.normalise(value[i])
		}
	case string:
		return o.hide(value)
	}
	return value
}

func typeOf(condition any) string {
	fields, _ := condition.(map[string]any)
	text, _ := fields["type"].(string)
	return text
}

// events returns each event once: what it is about, its type, its reason, who says so and the text.
func (o *Observer) events() ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for _, obj := range o.cluster.Engine().Server().Objects(false) {
		if obj.GetObjectKind().GroupVersionKind().Kind != "Event" {
			continue
		}
		fields, err := fieldsOf(obj)
		if err != nil {
			return nil, err
		}
		of := func(keys ...string) string {
			for _, key := range keys {
				if text, _ := fields[key].(string); text != "" {
					return text
				}
			}
			return ""
		}
		about, _ := first(fields, "involvedObject", "regarding").(map[string]any)
		source, _ := first(fields, "source", "deprecatedSource").(map[string]any)
		component := of("reportingComponent", "reportingController")
		if component == "" {
			component, _ = source["component"].(string)
		}
		if about["kind"] == "Node" || about["namespace"] == Aside {
			continue
		}
		line := fmt.Sprintf("%v %v: %s %s, %s: %s", about["kind"], about["name"], of("type"), of("reason"), component, of("message", "note"))
		lines = append(lines, lasts.ReplaceAllString(o.hide(strings.ReplaceAll(line, "\n", " ")), "<time>"))
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

func first(fields map[string]any, keys ...string) any {
	for _, key := range keys {
		if fields[key] != nil {
			return fields[key]
		}
	}
	return nil
}
