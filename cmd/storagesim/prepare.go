package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/internal/gaps"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/provisioner/localpath"
	"github.com/storagesim/storagesim/story/bundled"
)

// prepare gives the nodes their directories and runs the provisioners: those of
// --provisioners, or else those that the manifests' classes name.
func (o *runOptions) prepare(ctx context.Context, c *storagesim.Cluster, objects []manifest.Object) error {
	if err := o.makeNamespace(c, objects); err != nil {
		return err
	}
	disks, err := bundled.ParseDisks("--disk", o.disks, o.nodes)
	if err != nil {
		return err
	}
	for _, d := range disks {
		if err := bundled.MakeDisk(c, d); err != nil {
			return fmt.Errorf("--disk %w", err)
		}
	}
	names := o.provisioners
	if !o.provisionersSet {
		names = named(objects, o.named)
	}
	for _, name := range names {
		if err := bundled.Install(c, name); err != nil {
			return err
		}
	}
	if err := o.installCSI(ctx, c, objects); err != nil {
		return err
	}
	if err := o.standIn(c, objects); err != nil {
		return err
	}
	return o.makeDefault(c, objects)
}

// makeNamespace makes the namespace of --namespace, which a new cluster lacks, unless the manifests make it.
func (o *runOptions) makeNamespace(c *storagesim.Cluster, objects []manifest.Object) error {
	isIt := func(obj manifest.Object) bool { return obj.Ref() == "Namespace/"+o.manifests.Namespace }
	switch o.manifests.Namespace {
	case "", "default", "kube-system", "kube-public", "kube-node-lease":
		return nil
	}
	if slices.ContainsFunc(objects, isIt) {
		return nil
	}
	return c.Apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", o.manifests.Namespace))
}

// makeDefault makes the class of --default-class the default: that of the manifests, before it is applied, or a new one on local-path.
func (o *runOptions) makeDefault(c *storagesim.Cluster, objects []manifest.Object) error {
	if o.defaultClass == "" {
		return nil
	}
	for i, obj := range objects {
		if class, ok := obj.Object.(*storagev1.StorageClass); !ok || class.Name != o.defaultClass {
			continue
		}
		written := map[string]any{}
		if err := json.Unmarshal(obj.JSON, &written); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(written, "true", "metadata", "annotations", defaultAnnotation); err != nil {
			return err
		}
		data, err := json.Marshal(written)
		objects[i].JSON = data
		return err
	}
	if !c.Lab().Serves(localpath.ProvisionerName) {
		if err := bundled.Install(c, "local-path"); err != nil {
			return err
		}
	}
	return c.Apply(fmt.Sprintf("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: %q, annotations: {%s: \"true\"}}\nprovisioner: %s\n"+
		"volumeBindingMode: WaitForFirstConsumer",
		o.defaultClass, defaultAnnotation, localpath.ProvisionerName))
}

// defaultAnnotation is the annotation of the default class.
const defaultAnnotation = "storageclass.kubernetes.io/is-default-class"

// standIn runs the stand-ins of --csi and --stand-ins.
func (o *runOptions) standIn(c *storagesim.Cluster, objects []manifest.Object) error {
	coming := make([]runtime.Object, len(objects))
	for i, obj := range objects {
		coming[i] = obj.Object
	}
	named, err := bundled.ParseStandIns("--csi", o.named)
	if err != nil {
		return err
	}
	for _, s := range named {
		if err := bundled.InstallStandIn(c, s, coming...); err != nil {
			return err
		}
	}
	if o.standIns {
		_, err = bundled.StandIns(c, coming...)
	}
	return err
}

// named returns the provisioners that exist here and that a class of the manifests
// names. The reference CSI driver is not among them if it is run as --csi says.
func named(objects []manifest.Object, drivers []string) (names []string) {
	isReference := func(driver string) bool { name, _, _ := strings.Cut(driver, ","); return name == csidriver.Name }
	for _, obj := range objects {
		class, ok := obj.Object.(*storagev1.StorageClass)
		if !ok {
			continue
		}
		name, ok := bundled.NameOf(class.Provisioner)
		if ok && class.Provisioner == csidriver.Name {
			ok = !slices.ContainsFunc(drivers, isReference)
		}
		if ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// tellGaps names the objects of the manifests that ask for what the simulation does not model, in a
// line for each entry of the register.
func tellGaps(errOut io.Writer, objects []manifest.Object) {
	var order []*gaps.Gap
	refs, fields := map[*gaps.Gap][]string{}, map[*gaps.Gap][]string{}
	for _, obj := range objects {
		for _, use := range gaps.Of(obj.Resource.Kind, obj.Object) {
			if refs[use.Gap] == nil {
				order = append(order, use.Gap)
			}
			refs[use.Gap] = append(refs[use.Gap], obj.Ref())
			for _, field := range use.Paths {
				if !slices.Contains(fields[use.Gap], field) {
					fields[use.Gap] = append(fields[use.Gap], field)
				}
			}
		}
	}
	for _, gap := range order {
		what := strings.Join(refs[gap], ", ")
		if len(fields[gap]) > 0 {
			what += ": " + strings.Join(fields[gap], ", ")
		}
		fmt.Fprintf(errOut, "note: %s: %s\n", what, gap.Sentence())
	}
}
