package view

// Schema names the format of Page in JSON. A change that a reader must know of changes it.
const Schema = "storagesim.page/v1"

// Page is a run for a picture. Its JSON has the names of the tags.
type Page struct {
	// Schema is the constant Schema.
	Schema string `json:"schema"`
	// Title names the run, Intro tells about it in a sentence or two.
	Title string `json:"title"`
	Intro string `json:"intro,omitempty"`
	// Release is the release of Kubernetes that is modelled, "v1.37.2".
	Release string `json:"release"`
	// Start is the moment of t = 0 in virtual time, as in RFC 3339.
	Start string `json:"start"`
	// Repeat is the command that plays the run again.
	Repeat string `json:"repeat,omitempty"`
	// Missing are sentences that say what the page does not have.
	Missing []string `json:"missing,omitempty"`
	// Lanes are the actors, in the order to draw them.
	Lanes []Lane `json:"lanes"`
	// Objects are all objects that a step or Base is about.
	Objects []Object `json:"objects"`
	// Steps are in the order of the log.
	Steps []Step `json:"steps"`
	// Base has the objects that existed before the first step.
	Base []Base `json:"base,omitempty"`
	// Chapters divide the steps.
	Chapters []Chapter `json:"chapters,omitempty"`
}

// Lane is an actor.
type Lane struct {
	// ID is the actor's name, "kubelet/node-1", Name a short one.
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Node is the node of a kubelet or of a driver's part there.
	Node string `json:"node,omitempty"`
}

// Kind says what an actor is.
type Kind string

// The kinds of actors, in the order of their lanes.
const (
	User         Kind = "user"
	APIServer    Kind = "apiserver"
	Controller   Kind = "controller"
	Scheduler    Kind = "scheduler"
	Provisioner  Kind = "provisioner"
	Sidecar      Kind = "sidecar"
	AttachDetach Kind = "attachdetach"
	Kubelet      Kind = "kubelet"
	Driver       Kind = "driver"
	Program      Kind = "program"
)

// Object is an object of the API, or of a node, that steps refer to by its index.
type Object struct {
	// Kind is "PersistentVolumeClaim", Short the name that sentences use, "pvc".
	Kind      string `json:"kind"`
	Short     string `json:"short"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID is that of the first object of this name.
	UID string `json:"uid,omitempty"`
}

// Base is an object as it was before the first step.
type Base struct {
	Object int    `json:"object"`
	Value  any    `json:"value"`
	RV     uint64 `json:"rv"`
}

// Chapter begins at the step of this index, which may be one past the last.
type Chapter struct {
	Step  int    `json:"step"`
	Title string `json:"title"`
	// Stop is set if the page stops before it while it plays: a note to be read.
	Stop bool `json:"stop,omitempty"`
}

// Step is one record.
type Step struct {
	// N is the number of the record in the log, counted from 0; of a delivery that of the record before it.
	N int `json:"n"`
	// T is the virtual time since Page.Start, in milliseconds.
	T int64 `json:"t"`
	// Lane is the index of the actor.
	Lane int `json:"lane"`
	// Kind is write, event, decision, call, retry, down, up, fault, mount, command, file, delivery, gap or other.
	Kind string `json:"kind"`
	// Text is the record's sentence without its subject; a delivery has none.
	Text string `json:"text"`
	// About is the index of the object, Also lists other objects that it concerns.
	About *int  `json:"about,omitempty"`
	Also  []int `json:"also,omitempty"`
	// Detail is set for what the rest of the steps implies.
	Detail bool `json:"detail,omitempty"`

	Write    *Write    `json:"write,omitempty"`
	Event    *Event    `json:"event,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Call     *Call     `json:"call,omitempty"`
	Delivery *Delivery `json:"delivery,omitempty"`
	Mount    *Mount    `json:"mount,omitempty"`
	File     *File     `json:"file,omitempty"`
	Command  *Command  `json:"command,omitempty"`
	// Off is set if a process ends because its machine is switched off: the mounts there are gone.
	Off bool `json:"off,omitempty"`
	// For is the time for which a process is down, a cache is held or a retry waits, in milliseconds.
	For int64 `json:"for,omitempty"`
}

// Write is a request to change an object.
type Write struct {
	// Verb is create, update, patch, delete or deletecollection, Sub the subresource, RV the version of the store after it.
	Verb string `json:"verb"`
	Sub  string `json:"sub,omitempty"`
	RV   uint64 `json:"rv"`
	// Created is set if the object is new, Gone if it is there no more.
	Created bool `json:"created,omitempty"`
	Gone    bool `json:"gone,omitempty"`
	// Refused is set if nothing was done.
	Refused *Refusal `json:"refused,omitempty"`
	// Changes are the fields that changed; for a new object one change with the path "" and the whole object.
	Changes []Change `json:"changes,omitempty"`
}

// Refusal is the answer to a request that was not carried out.
type Refusal struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Change is a field that a write set or removed.
type Change struct {
	// Path is a JSON pointer (RFC 6901).
	Path    string `json:"path"`
	Old     any    `json:"old,omitempty"`
	Value   any    `json:"value,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// Event is an event of the API.
type Event struct {
	Type     string `json:"type"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Repeated bool   `json:"repeated,omitempty"`
}

// Decision is a choice of a controller.
type Decision struct {
	// Rule is a short name of the rule, "smallest that fits".
	Rule string `json:"rule,omitempty"`
	// Function is the upstream function that has the rule, and Source a link to it at the release.
	Function string `json:"function,omitempty"`
	Source   string `json:"source,omitempty"`
	// Chosen is the name of what was chosen, empty for none.
	Chosen     string      `json:"chosen,omitempty"`
	Candidates []Candidate `json:"candidates,omitempty"`
	// More is the number of candidates that are left out.
	More int `json:"more,omitempty"`
	// For is the claim of a volume's choice, Volumes has such choices for a pod's claims on the chosen node.
	For     string     `json:"for,omitempty"`
	Volumes []Decision `json:"volumes,omitempty"`
}

// Delivery says that the cache of the step's lane has heard of a write.
type Delivery struct {
	// RV is the version of the write, Resource the plural name of what the cache holds.
	RV       uint64 `json:"rv"`
	Resource string `json:"resource"`
	// Of is the index of the write's step.
	Of *int `json:"of,omitempty"`
}

// Candidate is a node or a volume that was looked at.
type Candidate struct {
	Name string `json:"name"`
	// OK is set if it could be chosen. Otherwise Filter names the plugin or filter that passed it over, and
	// Reason says why.
	OK     bool   `json:"ok"`
	Filter string `json:"filter,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Score is the sum, Scores has the parts by plugin.
	Score  *int64           `json:"score,omitempty"`
	Scores map[string]int64 `json:"scores,omitempty"`
}

// Call is a call of a driver by gRPC, or of a provisioner's code.
type Call struct {
	// To is the index of the driver's lane.
	To *int `json:"to,omitempty"`
	// Driver is the driver's name, Machine that of its socket.
	Driver  string `json:"driver"`
	Machine string `json:"machine,omitempty"`
	// Service is "csi.v1.Node", Method "NodeStageVolume".
	Service string `json:"service"`
	Method  string `json:"method"`
	// Code is the answer's code, Err its message, Fault what a fault did to the call.
	Code  string `json:"code"`
	Err   string `json:"err,omitempty"`
	Fault string `json:"fault,omitempty"`
	// TookMs is the virtual time that the caller waited, in milliseconds.
	TookMs  int64 `json:"tookMs,omitempty"`
	Request any   `json:"request,omitempty"`
	Answer  any   `json:"answer,omitempty"`
}

// Mount is a change to a machine's mounts.
type Mount struct {
	// Op is mount or unmount.
	Op      string `json:"op"`
	Machine string `json:"machine"`
	Source  string `json:"source"`
	Target  string `json:"target"`
	Volume  string `json:"volume,omitempty"`
	Err     string `json:"err,omitempty"`
}

// File is a directory or file that a program or provisioner made.
type File struct {
	// Op is make, remove or keep.
	Op      string `json:"op"`
	Machine string `json:"machine"`
	Path    string `json:"path"`
	Volume  string `json:"volume,omitempty"`
}

// Command is a command of a container.
type Command struct {
	Machine string   `json:"machine,omitempty"`
	Argv    []string `json:"argv"`
	Err     string   `json:"err,omitempty"`
}
