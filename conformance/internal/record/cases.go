package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/storagesim/storagesim/conformance"
)

// object is a manifest.
type object = map[string]any

// dice makes up a case: volumes, claims, classes, pods and nodes of all sorts, and then things that happen to them.
type dice struct {
	*rand.Rand
	n                              int // of the last name
	classes, volumes, claims, pods []string
	nodes, sets                    []string
	steps                          []conformance.Step
}

// makeUp returns the case of a seed.
func makeUp(seed uint64) *conformance.Recording {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 0x5eed))}
	d.begin()
	for range 4 + d.IntN(7) {
		d.event()
	}
	d.add(conformance.Action{Wait: 1, Quiet: new(pick(d, 3.0, 17.0))})
	return &conformance.Recording{Case: fmt.Sprintf("made_%04d", seed), About: fmt.Sprintf("made up, seed %d", seed), Steps: d.steps}
}

func pick[T any](d *dice, values ...T) T { return values[d.IntN(len(values))] }

// often returns true in so many of a hundred cases.
func (d *dice) often(percent int) bool { return d.IntN(100) < percent }

func (d *dice) name(prefix string) string {
	d.n++
	return fmt.Sprintf("%s%d", prefix, d.n)
}

func (d *dice) add(a conformance.Action) { d.steps = append(d.steps, conformance.Step{Action: a}) }

func (d *dice) create(quiet float64, objects ...object) {
	a := conformance.Action{}
	for _, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			panic(err) // it is made of texts and numbers
		}
		a.Create = append(a.Create, data)
	}
	if quiet > 0 {
		a.Quiet = &quiet
	}
	if len(objects) > 0 {
		d.add(a)
	}
}

func (d *dice) patch(target string, patch object, quiet float64) {
	data, err := json.Marshal(patch)
	if err != nil {
		panic(err)
	}
	a := conformance.Action{Patch: &conformance.Patch{Object: target, Patch: data}}
	if quiet > 0 {
		a.Quiet = &quiet
	}
	d.add(a)
}

// begin makes the nodes and what is there in the beginning, in some order.
func (d *dice) begin() {
	var nodes []conformance.Node
	for i := range 1 + d.IntN(3) {
		n := conformance.Node{Name: fmt.Sprintf("node-%d", i+1), Labels: map[string]string{"zone": pick(d, "a", "b"), "rank": fmt.Sprint(1 + d.IntN(9))}}
		d.nodes = append(d.nodes, n.Name)
		nodes = append(nodes, n)
	}
	late := d.often(25) // the nodes come later
	if !late {
		d.add(conformance.Action{Nodes: nodes})
	}
	var all []object
	for range d.IntN(4) {
		all = append(all, d.class())
	}
	for range d.IntN(6) {
		all = append(all, d.volume(""))
	}
	for range 1 + d.IntN(4) {
		all = append(all, d.claim())
	}
	if d.often(20) {
		d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	d.create(0, all...)
	if late {
		d.add(conformance.Action{Nodes: nodes})
	}
	var pods []object
	for range 1 + d.IntN(3) {
		pods = append(pods, d.pod())
	}
	if d.often(15) {
		pods = append(pods, d.set())
	}
	d.create(0, pods...)
}

// event adds a step: an object more, or a change of one that is there or was.
func (d *dice) event() {
	quiet := pick(d, 3.0, 3, 5, 17)
	claim := func() string { return pick(d, append(append([]string{"other"}, d.claims...), d.claims...)...) }
	node := pick(d, d.nodes...)
	switch d.IntN(24) {
	case 0, 1:
		d.create(quiet, d.volume(""))
	case 2:
		d.create(0, d.claim())
	case 3, 4:
		d.create(0, d.pod())
	case 5:
		d.create(17, d.class())
	case 6, 7: // what a provisioner makes
		d.create(quiet, d.volume(claim()))
	case 8:
		d.add(conformance.Action{Delete: "pvc/" + claim(), Quiet: &quiet})
	case 9:
		if len(d.pods) > 0 {
			d.add(conformance.Action{Delete: "pod/" + pick(d, d.pods...), Quiet: &quiet})
		}
	case 10:
		if len(d.volumes) > 0 {
			d.add(conformance.Action{Delete: "pv/" + pick(d, d.volumes...), Quiet: &quiet})
		}
	case 11:
		if len(d.classes) > 0 {
			d.add(conformance.Action{Delete: "sc/" + pick(d, d.classes...), Quiet: &quiet})
		}
	case 12:
		d.add(conformance.Action{Delete: "node/" + node, Quiet: &quiet})
	case 13:
		d.patch("node/"+node, object{"spec": object{"taints": pick[any](d, nil, []object{{"key": "dedicated", "value": "x", "effect": "NoSchedule"}})}}, 0)
	case 14:
		d.patch("node/"+node, object{"spec": object{"unschedulable": pick[any](d, true, nil)}}, 0)
	case 15:
		d.patch("node/"+node, object{"metadata": object{"labels": object{"zone": pick(d, "a", "b"), "rank": fmt.Sprint(1 + d.IntN(9))}}}, 0)
	case 16:
		if len(d.classes) > 0 {
			class := "sc/" + pick(d, d.classes...)
			d.patch(class, object{"metadata": object{"annotations": object{"storageclass.kubernetes.io/is-default-class": pick(d, "true", "false")}}}, 17)
		}
	case 17:
		d.patch("pvc/"+claim(), d.claimChange(node), quiet)
	case 18, 19:
		if len(d.volumes) > 0 {
			d.patch("pv/"+pick(d, d.volumes...), d.volumeChange(claim), quiet)
		}
	case 20:
		if len(d.pods) > 0 {
			d.patch("pod/"+pick(d, d.pods...), pick(d, object{"spec": object{"schedulingGates": []any{}}}, object{"metadata": object{"labels": object{"app": "x"}}},
				object{"metadata": object{"finalizers": pick[any](d, []string{"example.com/hold"}, nil)}}), 0)
		}
	case 21:
		if len(d.sets) > 0 {
			d.patch("statefulset/"+pick(d, d.sets...), object{"spec": object{"replicas": d.IntN(4)}}, 0)
		} else {
			d.create(0, d.set())
		}
	case 22:
		d.create(0, d.csi(node)...)
	case 23:
		if d.often(50) {
			d.add(conformance.Action{Attach: node})
		} else {
			d.add(conformance.Action{Wait: 1, Quiet: new(17.0)})
		}
	}
}

// claimChange returns a merge patch of a claim.
func (d *dice) claimChange(node string) object {
	return pick(d,
		object{"spec": object{"resources": object{"requests": object{"storage": pick(d, "3Gi", "12Gi", "500Mi")}}}},
		object{"metadata": object{"finalizers": nil}},
		object{"metadata": object{"labels": object{"tier": "gold"}}},
		object{"metadata": object{"annotations": object{"volume.kubernetes.io/selected-node": pick[any](d, node, nil, "node-9")}}},
		object{"spec": object{"volumeName": pick(d, append([]string{"v0"}, d.volumes...)...)}},
		object{"spec": object{"storageClassName": pick(d, append([]string{"", "nope"}, d.classes...)...)}},
		object{"spec": object{"volumeAttributesClassName": pick[any](d, "fast", nil)}})
}

// volumeChange returns a merge patch of a volume.
func (d *dice) volumeChange(claim func() string) object {
	return pick(d,
		object{"spec": object{"claimRef": nil}},
		object{"spec": object{"claimRef": object{"uid": nil}}},
		object{"spec": object{"claimRef": object{"namespace": "default", "name": claim(), "uid": nil}}},
		object{"spec": object{"persistentVolumeReclaimPolicy": pick(d, "Delete", "Retain", "Recycle")}},
		object{"spec": object{"capacity": object{"storage": pick(d, "1Gi", "20Gi")}}},
		object{"spec": object{"storageClassName": pick(d, append([]string{"", "nope"}, d.classes...)...)}},
		object{"spec": object{"accessModes": pick(d, []string{"ReadWriteOnce"}, []string{"ReadOnlyMany"}, []string{"ReadWriteMany", "ReadWriteOnce"})}},
		object{"metadata": object{"finalizers": nil}},
		object{"metadata": object{"labels": object{"tier": pick[any](d, "gold", "silver", nil)}}},
		object{"metadata": object{"deletionTimestamp": nil, "annotations": object{"pv.kubernetes.io/bound-by-controller": pick[any](d, "yes", nil)}}})
}

// className returns the name of a class, or nil for a field that is not set.
func (d *dice) className() any {
	return pick(d, append([]any{nil, "", "manual", "manual"}, anys(d.classes, d.classes)...)...)
}

func anys(lists ...[]string) []any {
	var all []any
	for _, list := range lists {
		for _, s := range list {
			all = append(all, s)
		}
	}
	return all
}

func (d *dice) class() object {
	o := object{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": object{"name": d.name("c")},
		"provisioner":       pick(d, "example.com/ext", "example.com/ext", "kubernetes.io/no-provisioner", "x.example.com", "kubernetes.io/host-path"),
		"reclaimPolicy":     pick(d, "Delete", "Retain"),
		"volumeBindingMode": pick(d, "Immediate", "WaitForFirstConsumer")}
	if d.often(35) {
		o["metadata"].(object)["annotations"] = object{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	if d.often(50) {
		o["allowVolumeExpansion"] = true
	}
	if d.often(25) {
		o["allowedTopologies"] = []object{{"matchLabelExpressions": []object{
			{"key": pick(d, "zone", "zone", "rank"), "values": pick(d, []string{"a"}, []string{"b"}, []string{"a", "b"}, []string{"7"})}}}}
	}
	d.classes = append(d.classes, o["metadata"].(object)["name"].(string))
	return o
}

var modes = [][]string{{"ReadWriteOnce"}, {"ReadWriteOnce"}, {"ReadWriteOnce"}, {"ReadOnlyMany"}, {"ReadWriteMany"}, {"ReadWriteOncePod"},
	{"ReadWriteOnce", "ReadWriteMany"},
	{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"}}

// volume makes a volume; one for a claim is as a provisioner makes it.
func (d *dice) volume(claim string) object {
	name := d.name("v")
	// No two volumes are of one size: which of equal ones is bound is chance.
	spec := object{"accessModes": pick(d, modes...), "capacity": object{"storage": fmt.Sprintf("%dMi", pick(d, 1024, 2048, 5120, 10240)+d.n)},
		"persistentVolumeReclaimPolicy": pick(d, "Retain", "Retain", "Delete", "Delete", "Recycle")}
	meta := object{"name": name}
	switch d.IntN(5) {
	case 0:
		spec["hostPath"] = object{"path": "/tmp/storagesim-nothing-here/" + name}
	case 1:
		spec["nfs"] = object{"server": "10.0.0.1", "path": "/" + name}
	case 2:
		spec["csi"] = object{"driver": "x.example.com", "volumeHandle": name}
	default:
		spec["local"] = object{"path": "/data/" + name}
		spec["nodeAffinity"] = object{"required": object{"nodeSelectorTerms": []object{{"matchExpressions": []object{
			{"key": "kubernetes.io/hostname", "operator": "In", "values": []string{pick(d, d.nodes...)}}}}}}}
	}
	if spec["local"] == nil && d.often(35) {
		var terms []object
		for range 1 + d.IntN(2) {
			terms = append(terms, object{"matchExpressions": []object{pick(d,
				object{"key": "zone", "operator": "In", "values": []string{pick(d, "a", "b")}},
				object{"key": "zone", "operator": "NotIn", "values": []string{pick(d, "a", "b")}},
				object{"key": "rank", "operator": pick(d, "Lt", "Gt"), "values": []string{fmt.Sprint(3 + d.IntN(6))}},
				object{"key": "nowhere", "operator": pick(d, "Exists", "DoesNotExist")})}})
		}
		spec["nodeAffinity"] = object{"required": object{"nodeSelectorTerms": terms}}
	}
	if class := d.className(); class != nil {
		spec["storageClassName"] = class
	}
	if d.often(15) {
		spec["volumeMode"] = "Block"
	}
	if d.often(40) {
		meta["labels"] = object{"tier": pick(d, "gold", "silver")}
	}
	if d.often(15) {
		meta["finalizers"] = []string{"example.com/hold"}
	}
	switch {
	case claim != "":
		spec["claimRef"] = object{"namespace": "default", "name": claim}
		meta["annotations"] = object{"pv.kubernetes.io/provisioned-by": pick(d, "example.com/ext", "x.example.com")}
	case d.often(15):
		spec["claimRef"] = object{"namespace": "default", "name": fmt.Sprintf("d%d", d.n+1+d.IntN(5))}
	}
	d.volumes = append(d.volumes, name)
	return object{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": spec}
}

// claimSpec makes the spec of a claim.
func (d *dice) claimSpec() object {
	spec := object{"accessModes": pick(d, modes...), "resources": object{"requests": object{"storage": pick(d, "1Gi", "2Gi", "5Gi", "10Gi")}}}
	if class := d.className(); class != nil {
		spec["storageClassName"] = class
	}
	if d.often(12) {
		spec["volumeMode"] = "Block"
	}
	return spec
}

func (d *dice) claim() object {
	spec, meta := d.claimSpec(), object{"name": d.name("d")}
	if d.often(20) {
		spec["selector"] = pick(d, object{"matchLabels": object{"tier": "gold"}},
			object{"matchExpressions": []object{{"key": "tier", "operator": pick(d, "Exists", "DoesNotExist")}}},
			object{"matchExpressions": []object{{"key": "tier", "operator": pick(d, "In", "NotIn"), "values": []string{"silver"}}}})
	}
	if d.often(15) && len(d.volumes) > 0 {
		spec["volumeName"] = pick(d, append(d.volumes, "v99")...)
	}
	if d.often(10) {
		meta["finalizers"] = []string{"example.com/hold"}
	}
	if d.often(8) {
		spec["dataSource"] = object{"kind": "PersistentVolumeClaim", "name": "d1"}
	}
	if d.often(6) {
		spec["volumeAttributesClassName"] = "fast"
	}
	if d.often(6) {
		meta["annotations"] = object{"volume.kubernetes.io/selected-node": pick(d, d.nodes...)}
	}
	d.claims = append(d.claims, meta["name"].(string))
	return object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}
}

func (d *dice) pod() object {
	name := d.name("p")
	var volumes, mounts []object
	if d.often(20) {
		volumes = append(volumes, object{"name": "scratch", "ephemeral": object{"volumeClaimTemplate": object{"spec": d.claimSpec()}}})
		d.claims = append(d.claims, name+"-scratch")
	}
	used := map[string]bool{}
	for range 1 + d.IntN(3) {
		claim := pick(d, append([]string{"missing"}, append(d.claims, d.claims...)...)...)
		if !used[claim] && !strings.HasPrefix(claim, name) {
			used[claim] = true
			volumes = append(volumes, object{"name": fmt.Sprintf("v%d", len(volumes)), "persistentVolumeClaim": object{"claimName": claim}})
		}
	}
	for _, v := range volumes {
		mounts = append(mounts, object{"name": v["name"], "mountPath": "/" + v["name"].(string)})
	}
	spec := object{"containers": []object{{"name": "c", "image": "busybox", "volumeMounts": mounts}}, "volumes": volumes}
	switch d.IntN(12) {
	case 0:
		spec["nodeSelector"] = object{"zone": pick(d, "a", "b")}
	case 1:
		spec["nodeSelector"] = object{"kubernetes.io/hostname": pick(d, "node-1", "node-2", "node-3")}
	case 2:
		spec["nodeName"] = pick(d, d.nodes...)
	case 3:
		spec["schedulingGates"] = []object{{"name": "example.com/gate"}}
	case 4:
		spec["affinity"] = object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []object{{
			"matchExpressions": []object{{"key": "rank", "operator": pick(d, "Gt", "Lt"), "values": []string{"5"}}}}}}}}
	case 5:
		spec["affinity"] = object{"podAntiAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": []object{{
			"topologyKey":   pick(d, "kubernetes.io/hostname", "zone"),
			"labelSelector": object{"matchLabels": object{"app": "x"}}}}}}
	case 6:
		spec["containers"].([]object)[0]["resources"] = object{"requests": object{"cpu": pick(d, "40", "100"), "memory": "1Gi"}}
	case 7:
		spec["topologySpreadConstraints"] = []object{{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
			"labelSelector": object{"matchLabels": object{"app": "x"}}}}
	case 8:
		spec["containers"].([]object)[0]["ports"] = []object{{"containerPort": 80, "hostPort": 8080}}
	}
	if d.often(30) {
		spec["tolerations"] = []object{{"key": "dedicated", "operator": "Exists"}}
	}
	d.pods = append(d.pods, name)
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "labels": object{"app": pick(d, "x", "y")}}, "spec": spec}
}

func (d *dice) set() object {
	name := d.name("s")
	d.sets = append(d.sets, name)
	replicas := 1 + d.IntN(3)
	for i := range replicas {
		d.claims = append(d.claims, fmt.Sprintf("data-%s-%d", name, i))
		d.pods = append(d.pods, fmt.Sprintf("%s-%d", name, i))
	}
	spec := object{"serviceName": name, "replicas": replicas, "podManagementPolicy": pick(d, "OrderedReady", "Parallel"),
		"selector": object{"matchLabels": object{"app": name}},
		"template": object{"metadata": object{"labels": object{"app": name}}, "spec": object{"containers": []object{{"name": "c", "image": "busybox",
			"volumeMounts": []object{{"name": "data", "mountPath": "/d"}}}}}},
		"volumeClaimTemplates": []object{{"metadata": object{"name": "data"}, "spec": d.claimSpec()}}}
	if d.often(40) {
		spec["persistentVolumeClaimRetentionPolicy"] = object{"whenDeleted": pick(d, "Delete", "Retain"), "whenScaled": pick(d, "Delete", "Retain")}
	}
	return object{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": object{"name": name}, "spec": spec}
}

// csi makes what a driver has in the API: its limits, its capacity, its rules.
func (d *dice) csi(node string) []object {
	switch d.IntN(3) {
	case 0:
		return []object{{"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": object{"name": node}, "spec": object{"drivers": []object{
			{"name": "x.example.com", "nodeID": node, "topologyKeys": []string{"zone"}, "allocatable": object{"count": d.IntN(3)}}}}}}
	case 1:
		return []object{{"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": object{"name": pick(d, "x.example.com", "example.com.ext")},
			"spec": object{"storageCapacity": d.often(50), "attachRequired": d.often(50), "podInfoOnMount": d.often(50)}}}
	}
	if len(d.classes) == 0 {
		return []object{d.class()}
	}
	return []object{{"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": object{"name": "x.example.com"}, "spec": object{"storageCapacity": true}},
		{"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": object{"name": d.name("cap")}, "storageClassName": pick(d, d.classes...),
			"capacity": pick(d, "1Gi", "100Gi"), "nodeTopology": object{"matchLabels": object{"zone": pick(d, "a", "b")}}}}
}
