package tables

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Describe prints what `kubectl describe ARGS` prints. Events are shown when
// there is one object.
func (v View) Describe(w io.Writer, o Options, args ...string) error {
	groups, missing := v.selected(o, args)
	var list []object
	for _, g := range groups {
		list = append(list, g.objects...)
	}
	for i, obj := range list {
		if i > 0 {
			fmt.Fprint(w, "\n\n")
		}
		if err := v.describe(w, obj, len(list) == 1 && missing == nil); err != nil {
			return err
		}
	}
	if len(list) == 0 && missing == nil {
		fmt.Fprintf(w, "No resources found in %s namespace.\n", o.namespace())
	}
	return missing
}

func (v View) describe(w io.Writer, obj object, withEvents bool) error {
	d := v.newDescriber(w)
	var err error
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		v.describeClaim(d, o)
	case *v1.PersistentVolume:
		v.describeVolume(d, o)
	case *v1.Pod:
		v.describePod(d, o)
	case *v1.Node:
		v.describeNode(d, o)
	case *v1.ResourceQuota:
		describeQuota(d, o)
		withEvents = false
	case *v1.LimitRange:
		describeLimits(d, o)
		withEvents = false
	case *storagev1.StorageClass:
		describeClass(d, o)
	case *storagev1.CSINode:
		describeCSINode(d, o)
	default:
		err = describeAny(d, obj)
	}
	if withEvents {
		v.describeEvents(d, obj)
	}
	return errors.Join(err, d.tabs.Flush())
}

// status prints the phase, or, of an object that is being deleted, for how long that has lasted.
func (v View) status(d describer, obj object, phase any) {
	if at := obj.GetDeletionTimestamp(); at != nil {
		phase = fmt.Sprintf("Terminating (lasts %s)", since(at.Time, v.Now))
	}
	d.field(0, "Status", phase)
}

func (v View) describeClaim(d describer, c *v1.PersistentVolumeClaim) {
	d.field(0, "Name", c.Name)
	d.field(0, "Namespace", c.Namespace)
	d.field(0, "StorageClass", class(c, text(c.Spec.StorageClassName, "")))
	v.status(d, c, c.Status.Phase)
	d.field(0, "Volume", c.Spec.VolumeName)
	d.labels("Labels", c.Labels)
	d.annotations(c.Annotations)
	d.field(0, "Finalizers", c.Finalizers)
	capacity, modes := "", ""
	if c.Spec.VolumeName != "" {
		capacity, modes = c.Status.Capacity.Storage().String(), accessModes(c.Status.AccessModes)
	}
	d.field(0, "Capacity", capacity)
	d.field(0, "Access Modes", modes)
	if c.Spec.VolumeMode != nil {
		d.field(0, "VolumeMode", *c.Spec.VolumeMode)
	}
	if source := c.Spec.DataSource; source != nil {
		d.line(0, "DataSource:")
		if source.APIGroup != nil {
			d.field(1, "APIGroup", *source.APIGroup)
		}
		d.field(1, "Kind", source.Kind)
		d.field(1, "Name", source.Name)
	}
	d.lines(0, "Used By", v.usersOf(c))
	if len(c.Status.Conditions) > 0 {
		d.line(0, "Conditions:")
		d.line(1, "Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage")
		d.line(1, "----\t------\t-----------------\t------------------\t------\t-------")
		for _, cond := range c.Status.Conditions {
			d.line(1, "%v \t%v \t%s \t%s \t%v \t%v", cond.Type, cond.Status, stamp(cond.LastProbeTime.Time), stamp(cond.LastTransitionTime.Time),
				cond.Reason, cond.Message)
		}
	}
}

// usersOf returns the pods that use a claim, and the pod that owns it.
func (v View) usersOf(c *v1.PersistentVolumeClaim) []string {
	var names []string
	for _, p := range all[*v1.Pod](v) {
		uses := slices.ContainsFunc(p.Spec.Volumes, func(vol v1.Volume) bool {
			return vol.PersistentVolumeClaim != nil && vol.PersistentVolumeClaim.ClaimName == c.Name
		})
		for _, owner := range c.OwnerReferences {
			uses = uses || owner.Kind == "Pod" && owner.UID == p.UID
		}
		if uses && p.Namespace == c.Namespace {
			names = append(names, p.Name)
		}
	}
	return names
}

func (v View) describeVolume(d describer, pv *v1.PersistentVolume) {
	d.field(0, "Name", pv.Name)
	d.labels("Labels", pv.Labels)
	d.annotations(pv.Annotations)
	d.field(0, "Finalizers", pv.Finalizers)
	d.field(0, "StorageClass", class(pv, pv.Spec.StorageClassName))
	v.status(d, pv, pv.Status.Phase)
	claim := ""
	if ref := pv.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	d.field(0, "Claim", claim)
	d.field(0, "Reclaim Policy", pv.Spec.PersistentVolumeReclaimPolicy)
	d.field(0, "Access Modes", accessModes(pv.Spec.AccessModes))
	if pv.Spec.VolumeMode != nil {
		d.field(0, "VolumeMode", *pv.Spec.VolumeMode)
	}
	d.field(0, "Capacity", pv.Spec.Capacity.Storage())
	describeAffinity(d, pv.Spec.NodeAffinity)
	d.field(0, "Message", pv.Status.Message)
	d.line(0, "Source:")
	describePersistentSource(d, pv.Spec.PersistentVolumeSource)
}

func describeAffinity(d describer, affinity *v1.VolumeNodeAffinity) {
	if affinity == nil || affinity.Required == nil {
		d.field(0, "Node Affinity", "<none>")
		return
	}
	d.field(0, "Node Affinity", "")
	if len(affinity.Required.NodeSelectorTerms) == 0 {
		d.field(1, "Required Terms", "<none>")
		return
	}
	d.field(1, "Required Terms", "")
	for i, term := range affinity.Required.NodeSelectorTerms {
		var lines []string
		for _, req := range term.MatchExpressions {
			line := req.Key + " " + strings.ToLower(string(req.Operator))
			if len(req.Values) > 0 {
				line += " [" + strings.Join(req.Values, ", ") + "]"
			}
			lines = append(lines, line)
		}
		d.lines(2, fmt.Sprintf("Term %d", i), lines)
	}
}

func describeClass(d describer, sc *storagev1.StorageClass) {
	d.field(0, "Name", sc.Name)
	d.field(0, "IsDefaultClass", map[bool]string{true: "Yes", false: "No"}[isDefault(sc)])
	d.field(0, "Annotations", formatLabels(sc.Annotations))
	d.field(0, "Provisioner", sc.Provisioner)
	d.field(0, "Parameters", formatLabels(sc.Parameters))
	expansion := "<unset>"
	if sc.AllowVolumeExpansion != nil {
		expansion = boolean(*sc.AllowVolumeExpansion)
	}
	d.field(0, "AllowVolumeExpansion", expansion)
	if len(sc.MountOptions) == 0 {
		d.field(0, "MountOptions", "<none>")
	} else {
		d.line(0, "MountOptions:")
	}
	for _, option := range sc.MountOptions {
		d.line(1, "%s", option)
	}
	d.field(0, "ReclaimPolicy", text(sc.ReclaimPolicy, "Delete"))
	d.field(0, "VolumeBindingMode", text(sc.VolumeBindingMode, "Immediate"))
	if sc.AllowedTopologies == nil {
		return
	}
	d.field(0, "AllowedTopologies", "")
	for i, term := range sc.AllowedTopologies {
		var lines []string
		for _, req := range term.MatchLabelExpressions {
			lines = append(lines, req.Key+" in ["+strings.Join(req.Values, ", ")+"]")
		}
		d.lines(1, fmt.Sprintf("Term %d", i), lines)
	}
}

func describeCSINode(d describer, n *storagev1.CSINode) {
	d.field(0, "Name", n.Name)
	d.labels("Labels", n.Labels)
	d.annotations(n.Annotations)
	d.field(0, "CreationTimestamp", stamp(n.CreationTimestamp.Time))
	d.line(0, "Spec:")
	if n.Spec.Drivers == nil {
		return
	}
	d.line(1, "Drivers:")
	for _, driver := range n.Spec.Drivers {
		d.line(2, "%s:", driver.Name)
		d.field(3, "Node ID", driver.NodeID)
		if driver.Allocatable != nil && driver.Allocatable.Count != nil {
			d.line(3, "Allocatables:")
			d.field(4, "Count", *driver.Allocatable.Count)
		}
		if driver.TopologyKeys != nil {
			d.field(3, "Topology Keys", driver.TopologyKeys)
		}
	}
}

// describeEvents lists the events about an object, the last seen last.
func (v View) describeEvents(d describer, obj object) {
	events := v.eventsAbout(obj)
	if len(events) == 0 {
		d.field(0, "Events", "<none>")
		return
	}
	d.tabs.Flush() // what follows is a table of its own
	d.line(0, "Events:\n  Type\tReason\tAge\tFrom\tMessage")
	d.line(1, "----\t------\t----\t----\t-------")
	for _, e := range events {
		message := strings.TrimSpace(e.Message)
		if e.InvolvedObject.FieldPath != "" {
			message = e.InvolvedObject.FieldPath + ": " + message
		}
		d.line(1, "%v\t%v\t%s\t%v\t%v", e.Type, e.Reason, interval(e, v.Now), cmp.Or(e.Source.Component, e.ReportingController), message)
	}
}

// eventsAbout returns the events about an object, the last seen last. Those about a
// node may bear its name for a UID, as the kubelet writes them.
func (v View) eventsAbout(obj object) []*v1.Event {
	kind := kindOf(obj).Kind
	var list []*v1.Event
	for _, e := range all[*v1.Event](v) {
		ref := e.InvolvedObject
		if ref.Kind == kind && ref.Name == obj.GetName() && ref.Namespace == obj.GetNamespace() &&
			(ref.UID == obj.GetUID() || kind == "Node" && string(ref.UID) == obj.GetName()) {
			list = append(list, e)
		}
	}
	sortByTime(list)
	return list
}

func formatLabels(m map[string]string) string {
	var parts []string
	for _, key := range sortedKeys(m) {
		parts = append(parts, key+"="+m[key])
	}
	return orNone(strings.Join(parts, ","))
}

// boolean returns a truth value as kubectl describes it.
func boolean(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func stamp(t time.Time) string { return t.Format(time.RFC1123Z) }
