package trace

import (
	"fmt"
	"slices"
	"strings"
)

// Situation names a situation in which the simulation does otherwise than the modelled release of Kubernetes.
type Situation string

// The situations of the register, see Deviations.
const (
	// DirectoryLeft: a volume plugin fails, leaves the volume's directory and does not say that the mount is in doubt.
	DirectoryLeft Situation = "a directory is left"
	// SavedVolume: a provisioner looks for a volume that it has saved and that its cache does not have.
	SavedVolume Situation = "a volume that was saved"
	// LeftoverHelper: OpenEBS finds a helper pod of an earlier attempt.
	LeftoverHelper Situation = "a leftover helper pod"
	// HelperStays: a helper pod of OpenEBS cannot be deleted.
	HelperStays Situation = "a helper pod stays"
	// ProgramTaken: a container's own program is not there and taken for one of its image.
	ProgramTaken Situation = "a program is taken to run"
	// ImageEmpty: a volume has the files of an image.
	ImageEmpty Situation = "a volume of an image"
	// ImageUser: a container must not run as root, and the user of its image is not known.
	ImageUser Situation = "the user of an image"
	// OwnersNotKept: a container does not run as root, on a node whose files have not the owners that are set.
	OwnersNotKept Situation = "owners are not kept"
	// TaintRepeated: a NoSchedule taint cannot be written.
	TaintRepeated Situation = "a taint is not written"
)

// Deviation is an entry of the register: upstream's way in a situation, where it is in upstream's source, and what
// happens here.
type Deviation struct {
	Situation Situation
	// Upstream says what upstream does, as the rest of a sentence that begins with "upstream".
	Upstream string
	// Source is the file and line of upstream, with the release.
	Source string
	// Here says what happens here, as the rest of a sentence that begins with "here".
	Here string
}

// Deviations returns the register: the situations in which upstream's way is not modelled although a program could notice.
// In each the component concerned records Deviates.
func Deviations() []Deviation {
	return []Deviation{
		{
			Situation: DirectoryLeft,
			Upstream:  "takes the volume for not mounted, unless the plugin says that it is in doubt",
			Source:    "kubernetes v1.37.2 pkg/volume/util/operationexecutor/operation_generator.go:714",
			Here:      "the volume is in doubt and torn down when its pod goes",
		},
		{ // v9 and v11 of the library put the volume into the cache themselves, where it stays if it is deleted.
			Situation: SavedVolume,
			Upstream:  "looks in its cache alone and calls Provision again",
			Source:    "sig-storage-lib-external-provisioner v13.0.0 controller/controller.go:1431",
			Here:      "the volume is read from the API server",
		},
		{
			Situation: LeftoverHelper,
			Upstream:  "waits for the pod as if it were its own, and takes over how it ended",
			Source:    "dynamic-localpv-provisioner cmd/provisioner-localpv/app/helper_hostpath.go launchPod",
			Here:      "the pod is deleted and made anew",
		},
		{
			Situation: HelperStays,
			Upstream:  "logs the error, goes on and leaves the pod",
			Source:    "dynamic-localpv-provisioner cmd/provisioner-localpv/app/helper_hostpath.go exitPod",
			Here:      "the call fails and is repeated",
		},
		{
			Situation: ProgramTaken,
			Upstream:  "runs the program that is in the image",
			Source:    "OCI runtime specification v1.2 config.md process",
			Here:      "the program is taken to run for ever, or in an init container, a Job and a probe to have succeeded",
		},
		{
			Situation: ImageEmpty,
			Upstream:  "mounts the image's files",
			Source:    "kubernetes v1.37.2 pkg/kubelet/kuberuntime/kuberuntime_manager.go:2035",
			Here:      "the volume and each subPath are empty",
		},
		{
			Situation: ImageUser,
			Upstream:  "starts the container as the user of its image, unless that is root or a name",
			Source:    "kubernetes v1.37.2 pkg/kubelet/kuberuntime/security_context_others.go:34",
			Here:      "it is started, and runs as root",
		},
		{
			Situation: OwnersNotKept,
			Upstream:  "leaves it to the kernel which files the container's user may use",
			Source:    "kubernetes v1.37.2 pkg/kubelet/kuberuntime/security_context.go:30",
			Here:      "the user may use all files, which are in a directory of a process that cannot change owners",
		},
		{
			Situation: TaintRepeated,
			Upstream:  "logs the error and writes the taint when the node changes next",
			Source:    "kubernetes v1.37.2 pkg/controller/nodelifecycle/node_lifecycle_controller.go:526",
			Here:      "the taint is written again after a backoff",
		},
	}
}

// Deviates says that the simulation does otherwise than upstream from here on. The log keeps the first of each situation, and of what its Of tells apart.
type Deviates struct {
	Deviation
	// About is the object with which the situation arose.
	About Ref
	// Of, if set, tells apart what arose of a situation: of each the log keeps the first record. It is "program zkServer.sh of container zk".
	Of string
}

// Deviate returns the record of a situation that arose with an object. It panics for a situation that is not in the register.
func Deviate(s Situation, about Ref) Deviates {
	list := Deviations()
	i := slices.IndexFunc(list, func(d Deviation) bool { return d.Situation == s })
	if i < 0 {
		panic(fmt.Sprintf("situation %q is not in the register of deviations", s))
	}
	return Deviates{Deviation: list[i], About: about}
}

// Topic implements Record.
func (Deviates) Topic() string { return "deviates" }

func (d Deviates) String() string {
	of := ""
	if d.Of != "" {
		of = ", " + d.Of
	}
	return fmt.Sprintf("deviates at %s%s: upstream %s (%s); here %s", d.About, of, d.Upstream, d.Source, d.Here)
}

// DeviationsTable returns the register as a table of Markdown.
func DeviationsTable() string {
	var b strings.Builder
	b.WriteString("| situation | upstream | source | here |\n| --- | --- | --- | --- |\n")
	for _, d := range Deviations() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.Situation, d.Upstream, d.Source, d.Here)
	}
	return b.String()
}
