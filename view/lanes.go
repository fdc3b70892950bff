package view

import (
	"slices"
	"strings"

	"github.com/storagesim/storagesim/trace"
)

// apiServerActor is the name of the API server where it writes itself.
const apiServerActor = "kube-apiserver"

// apiServerLane is the ID of its lane, which each page has.
const apiServerLane = "apiserver"

// columns lists the kinds in the order of their lanes; the PV controller comes before the scheduler, the others after attach/detach.
const (
	userColumn = iota
	pvColumn
	schedulerColumn
	provisionerColumn
	attachDetachColumn
	controllerColumn
	kubeletColumn
	driverColumn
	programColumn
	apiServerColumn
)

// actors collects the lanes of a page.
type actors struct {
	lanes []Lane
	index map[string]int
}

// known says what the actors of the control plane are.
func known(actor string) (Lane, bool) {
	names := map[string]Lane{
		"user":                                        {Name: "user", Kind: User},
		"setup":                                       {Name: "setup", Kind: User},
		"persistent-volume-binder":                    {Name: "PV controller", Kind: Controller},
		"kube-scheduler":                              {Name: "scheduler", Kind: Scheduler},
		"attachdetach-controller":                     {Name: "attach/detach", Kind: AttachDetach},
		"pvc-protection-controller":                   {Name: "PVC protection", Kind: Controller},
		"pv-protection-controller":                    {Name: "PV protection", Kind: Controller},
		"snapshot-controller":                         {Name: "snapshots", Kind: Controller},
		"node-controller":                             {Name: "node lifecycle", Kind: Controller},
		"taint-eviction-controller":                   {Name: "taint eviction", Kind: Controller},
		"pod-garbage-collector":                       {Name: "pod GC", Kind: Controller},
		"generic-garbage-collector":                   {Name: "garbage collector", Kind: Controller},
		"ephemeral-volume-controller":                 {Name: "ephemeral volumes", Kind: Controller},
		"statefulset-controller":                      {Name: "StatefulSets", Kind: Controller},
		"deployment-controller":                       {Name: "Deployments", Kind: Controller},
		"replicaset-controller":                       {Name: "ReplicaSets", Kind: Controller},
		"replication-controller":                      {Name: "ReplicationControllers", Kind: Controller},
		"daemonset-controller":                        {Name: "DaemonSets", Kind: Controller},
		"job-controller":                              {Name: "Jobs", Kind: Controller},
		"ttl-after-finished-controller":               {Name: "TTL of Jobs", Kind: Controller},
		"cronjob-controller":                          {Name: "CronJobs", Kind: Controller},
		"namespace-controller":                        {Name: "namespaces", Kind: Controller},
		"resourcequota-controller":                    {Name: "quotas", Kind: Controller},
		"disruption-controller":                       {Name: "disruption", Kind: Controller},
		"expand-controller":                           {Name: "volume expansion", Kind: Controller},
		"volumeattributesclass-protection-controller": {Name: "VAC protection", Kind: Controller},
		"root-ca-cert-publisher":                      {Name: "CA publisher", Kind: Controller},
		apiServerActor:                                {ID: apiServerLane, Name: "API server", Kind: APIServer},
		apiServerLane:                                 {Name: "API server", Kind: APIServer},
	}
	lane, ok := names[actor]
	if ok && lane.ID == "" {
		lane.ID = actor
	}
	return lane, ok
}

// laneOf returns the lane of an actor by its name. provisioners are the actors that are known to provision.
func laneOf(actor string, provisioners map[string]bool) Lane {
	if lane, ok := known(actor); ok {
		return lane
	}
	first, rest, _ := strings.Cut(actor, "/")
	driver, node, _ := strings.Cut(rest, "/")
	lane := Lane{ID: actor, Name: actor, Kind: Program}
	switch {
	case first == "kubelet" && rest != "":
		lane = Lane{ID: actor, Name: "kubelet", Kind: Kubelet, Node: rest}
	case first == "csi-driver" && rest != "":
		lane = Lane{ID: actor, Name: driver, Kind: Driver, Node: node}
	case strings.HasPrefix(first, "csi-") && rest != "":
		lane = Lane{ID: actor, Name: first, Kind: Sidecar, Node: node}
	case provisioners[actor], strings.Contains(actor, "/"):
		lane.Kind = Provisioner
	case strings.HasSuffix(actor, "-controller"):
		lane.Kind = Controller
	}
	return lane
}

// column returns the place of a lane in the order.
func (l Lane) column() int {
	switch l.Kind {
	case User:
		return userColumn
	case Scheduler:
		return schedulerColumn
	case Provisioner, Sidecar:
		return provisionerColumn
	case AttachDetach:
		return attachDetachColumn
	case Kubelet:
		return kubeletColumn
	case Driver:
		return driverColumn
	case Program:
		return programColumn
	case APIServer:
		return apiServerColumn
	}
	if l.ID == "persistent-volume-binder" {
		return pvColumn
	}
	return controllerColumn
}

// lanesOf returns the lanes of all actors of the records, of the drivers that they call, and of the API server, in
// order.
func lanesOf(entries []trace.Entry) actors {
	provisioners, seen := map[string]bool{}, map[string]bool{apiServerActor: true}
	for _, e := range entries {
		seen[e.Actor] = true
		switch r := e.Record.(type) {
		case trace.Call:
			provisioners[e.Actor] = true
		case trace.RPC:
			seen[driverActor(r)] = true
		}
	}
	var lanes []Lane
	index := map[string]int{}
	for actor := range seen {
		lane := laneOf(actor, provisioners)
		if !slices.Contains(lanes, lane) {
			lanes = append(lanes, lane)
		}
	}
	slices.SortFunc(lanes, func(a, b Lane) int {
		if a.column() != b.column() {
			return a.column() - b.column()
		}
		return strings.Compare(a.ID, b.ID)
	})
	for i, lane := range lanes {
		index[lane.ID] = i
	}
	index[apiServerActor] = index[apiServerLane]
	return actors{lanes, index}
}

// know reports whether an entry needs no other lanes.
func (a actors) know(e trace.Entry) bool {
	lane, ok := a.index[e.Actor]
	switch r := e.Record.(type) {
	case trace.Call:
		ok = ok && a.lanes[lane] == laneOf(e.Actor, map[string]bool{e.Actor: true})
	case trace.RPC:
		_, to := a.index[laneOf(driverActor(r), nil).ID]
		ok = ok && to
	}
	return ok
}

// registration is the service by which a kubelet asks a registrar of its driver.
const registration = "pluginregistration.Registration"

// driverActor returns the name of the actor that answers a call.
func driverActor(r trace.RPC) string {
	if r.Service == registration {
		return "csi-registrar/" + strings.TrimPrefix(r.Driver, "the registrar of ") + "/" + strings.TrimPrefix(r.Machine, "node/")
	}
	if node, ok := strings.CutPrefix(r.Machine, "node/"); ok {
		return "csi-driver/" + r.Driver + "/" + node
	}
	return "csi-driver/" + r.Driver
}
