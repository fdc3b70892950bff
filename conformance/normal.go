package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// uids knows by which object each UID was borne, and which UID each object has
// now or had last: recordings write "<uid:kind/namespace/name>" for both.
type uids struct {
	byUID  map[string]string // UID -> placeholder
	latest map[string]string // placeholder -> UID
	nodes  []string          // those of a case with kubelets
}

func newUIDs() *uids { return &uids{byUID: map[string]string{}, latest: map[string]string{}} }

var (
	placeholders = regexp.MustCompile(`<uid:[^<>]+>`)
	hideDirs     = strings.NewReplacer(hostDir, "<host>", rootDir, "<root>")
	showDirs     = strings.NewReplacer("<host>", hostDir, "<root>", rootDir)
	writtenTags  = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">") // as package json writes them in a recording
)

// learn remembers an object's UID.
func (u *uids) learn(kind string, obj runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil || m.GetUID() == "" {
		return
	}
	if pv, ok := obj.(*v1.PersistentVolume); ok {
		defer u.learnVolume(pv)
	}
	name := u.hide(m.GetName())
	if kind == "PersistentVolume" || kind == "VolumeSnapshotContent" {
		name = replaceUIDs(m.GetName(), func(string) string { return "..." }) // as recordings have those of provisioned ones
	}
	placeholder := "<uid:" + objectKey(kind, m.GetNamespace(), name) + ">"
	u.byUID[string(m.GetUID())] = placeholder
	u.latest[placeholder] = string(m.GetUID())
}

// hide puts placeholders in place of UIDs.
func (u *uids) hide(s string) string {
	s = replaceUIDs(s, func(uid string) string {
		if placeholder, ok := u.byUID[uid]; ok {
			return placeholder
		}
		return uid
	})
	return hideDirs.Replace(s)
}

// replaceUIDs puts replace's answer in place of each UID and each ID of a container: it is `[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,
// of which package regexp tries each letter of an object.
func replaceUIDs(s string, replace func(string) string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		n := hexDigits(s[i:])
		switch {
		case n >= 64:
			n = 64
		case n >= 8 && isUID(s[i+n-8:]):
			i, n = i+n-8, uidLength
		default:
			i += n + 1
			continue
		}
		b.WriteString(s[done:i])
		b.WriteString(replace(s[i : i+n]))
		i += n
		done = i
	}
	b.WriteString(s[done:])
	return b.String()
}

const uidLength = 36

// isUID reports whether s begins with a UID.
func isUID(s string) bool {
	for i, n := range []int{8, 4, 4, 4, 12} {
		if i > 0 {
			if s == "" || s[0] != '-' {
				return false
			}
			s = s[1:]
		}
		if hexDigits(s[:min(n, len(s))]) < n {
			return false
		}
		s = s[n:]
	}
	return true
}

// hexDigits returns the number of lower-case hexadecimal digits with which s begins.
func hexDigits(s string) int {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return i
		}
	}
	return len(s)
}

// fill puts UIDs in place of placeholders, as the recorder did with its input.
func (u *uids) fill(s string) (string, error) {
	var err error
	s = showDirs.Replace(writtenTags.Replace(s))
	filled := placeholders.ReplaceAllStringFunc(s, func(placeholder string) string {
		uid, ok := u.latest[placeholder]
		if !ok {
			err = fmt.Errorf("%s: no such object has existed", placeholder)
		}
		return uid
	})
	return filled, err
}

// objectKey returns an object's name in recordings: "persistentvolumeclaim/default/data".
func objectKey(kind, namespace, name string) string {
	key := strings.ToLower(kind) + "/"
	if namespace != "" {
		key += namespace + "/"
	}
	return key + name
}

// normal returns the object as recordings have it: JSON without what differs from
// run to run.
func (u *uids) normal(obj runtime.Object) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(u.hide(string(data))), &m); err != nil {
		return nil, err
	}
	return normalise(m), nil
}

// normalise drops versions, times, generations, managed fields and node conditions,
// and replaces deletionTimestamp's value and what the container runtime chooses, in
// place. A StatefulSet's controller gives its pods the volumes of their claims in any order.
//
// Upstream: pkg/controller/statefulset/stateful_set_utils.go updateStorage, v1.37, which goes through a map of claims.
func normalise(m map[string]any) map[string]any {
	if status, ok := m["status"].(map[string]any); ok && m["kind"] == "Node" {
		delete(status, "conditions")
	}
	if spec, ok := m["spec"].(map[string]any); ok && m["kind"] == "Pod" && isOfStatefulSet(m) {
		byName(spec["volumes"])
	}
	prune(m)
	return m
}

// isOfStatefulSet reports whether an object belongs to a StatefulSet.
func isOfStatefulSet(m map[string]any) bool {
	metadata, _ := m["metadata"].(map[string]any)
	owners, _ := metadata["ownerReferences"].([]any)
	return slices.ContainsFunc(owners, func(owner any) bool {
		fields, ok := owner.(map[string]any)
		return ok && fields["kind"] == "StatefulSet"
	})
}

// normaliseChanged does the same with JSON pointers and their values, in place.
func normaliseChanged(changed map[string]any) {
	for pointer, value := range changed {
		key := pointer[strings.LastIndex(pointer, "/")+1:]
		field := map[string]any{key: value}
		prune(field)
		if value, left := field[key]; left && value != "<time>" {
			changed[pointer] = value
		} else {
			delete(changed, pointer)
		}
	}
}

// chosen are the fields whose values a container runtime and its network choose.
var chosen = map[string]string{"hostIP": "<hostIP>", "podIP": "<podIP>", "ip": "<ip>", "containerID": "<containerID>"}

func prune(value any) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			prune(v)
		}
	case map[string]any:
		for key, v := range value {
			switch {
			case key == "deletionTimestamp":
				value[key] = "<set>"
			case chosen[key] != "" && v != nil:
				value[key] = chosen[key]
			case key == "reason" && v == "Completed": // the runtime of recordings gives none
				delete(value, key)
			case key == "time" && v != nil, key == "timeAdded" && v != nil: // of an attachment's error, of a taint
				value[key] = "<time>"
			case key == "drivers": // of a CSINode: which registers first is chance
				byName(v)
			case key == identityKey:
				text, _ := v.(string)
				value[key] = hideIdentity(text)
			case key == "message":
				if text, ok := v.(string); ok {
					value[key] = withoutVersions(text)
				}
			case key == "controller-revision-hash": // ControllerRevisions are not compared
				value[key] = "<hash>"
			case dropped(key):
				delete(value, key)
			default:
				prune(v)
			}
		}
	}
}

// byName sorts a list of named things, in place.
func byName(list any) {
	items, _ := list.([]any)
	name := func(item any) string {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		return name
	}
	slices.SortStableFunc(items, func(a, b any) int { return cmp.Compare(name(a), name(b)) })
}

func dropped(key string) bool {
	switch key {
	case "creationTime", "resourceVersion", "generation", "observedGeneration", "managedFields", "startedAt", "finishedAt":
		return true
	}
	return strings.HasSuffix(key, "Timestamp") || strings.HasSuffix(key, "Time")
}

// differences lists what differs between two normal objects as recordings do:
// JSON pointer to the new value, null for what was removed. Lists are one value.
func differences(old, new map[string]any) map[string]any {
	changed := map[string]any{}
	compareMaps("", old, new, changed)
	return changed
}

func compareMaps(at string, old, new, changed map[string]any) {
	keys := map[string]bool{}
	for _, m := range []map[string]any{old, new} {
		for key := range m {
			keys[key] = true
		}
	}
	for key := range keys {
		pointer := at + "/" + escape.Replace(key)
		was, had := old[key]
		is, has := new[key]
		wasMap, both := was.(map[string]any)
		isMap, ok := is.(map[string]any)
		switch {
		case !has:
			changed[pointer] = nil
		case had && both && ok:
			compareMaps(pointer, wasMap, isMap, changed)
		case !had || !reflect.DeepEqual(was, is):
			changed[pointer] = is
		}
	}
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// text shows a value in a difference.
func text(value any) string {
	if value == nil {
		return "nothing"
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // placeholders have angle brackets
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSpace(b.String())
}

// sortedKeys returns a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
