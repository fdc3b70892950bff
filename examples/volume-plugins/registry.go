package main

import (
	"fmt"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/volume"
)

// registry asks a kubelet's plugins who takes which volume.
func registry(out io.Writer) error {
	plugins, err := volume.InitPlugins(kubelet.DefaultPlugins(), nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n# Who takes it? Each plugin is asked, and exactly one must say yes.\n\n")
	for _, spec := range specs() {
		fmt.Fprintf(out, "%-46s %s\n", spec, answer(plugins, spec))
	}

	fmt.Fprintf(out, "\n# What if two plugins match? Then it is an error.\n\n")
	twice, err := volume.InitPlugins(append(kubelet.DefaultPlugins(), impostor{local.NewPlugin(), "example.com/disk"}), nil)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, answer(twice, specs()[0]))

	fmt.Fprintf(out, "\n# Names are checked when the kubelet starts.\n\n")
	for _, name := range []string{"disk", "example.com/a/disk", local.PluginName} {
		_, err := volume.InitPlugins(append(kubelet.DefaultPlugins(), impostor{local.NewPlugin(), name}), nil)
		fmt.Fprintln(out, firstLine(err))
	}
	return nil
}

// impostor is the local plugin under another name.
type impostor struct {
	volume.VolumePlugin
	name string
}

func (i impostor) GetPluginName() string { return i.name }

// specs returns volumes: first of PersistentVolumes, then of pods themselves.
func specs() []*volume.Spec {
	var list []*volume.Spec
	for _, source := range []v1.PersistentVolumeSource{
		{Local: &v1.LocalVolumeSource{Path: "/mnt/disk"}},
		{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/srv"}},
		{HostPath: &v1.HostPathVolumeSource{Path: "/var/log"}},
		{CSI: &v1.CSIPersistentVolumeSource{Driver: "example.com", VolumeHandle: "1"}},
	} {
		pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: source}}
		pv.Name = "pv"
		list = append(list, volume.NewSpecFromPersistentVolume(pv, false))
	}
	for _, source := range []v1.VolumeSource{
		{HostPath: &v1.HostPathVolumeSource{Path: "/var/log"}},
		{EmptyDir: &v1.EmptyDirVolumeSource{}},
		{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/srv"}},
		{ConfigMap: &v1.ConfigMapVolumeSource{}},
		{Secret: &v1.SecretVolumeSource{}},
		{DownwardAPI: &v1.DownwardAPIVolumeSource{}},
		{Projected: &v1.ProjectedVolumeSource{}},
		// The others of the document's 21.
		{ISCSI: &v1.ISCSIVolumeSource{}},
		{FC: &v1.FCVolumeSource{}},
		{FlexVolume: &v1.FlexVolumeSource{}},
		{GitRepo: &v1.GitRepoVolumeSource{}},
		{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{}},
		{AzureDisk: &v1.AzureDiskVolumeSource{}},
		{AzureFile: &v1.AzureFileVolumeSource{}},
		{CephFS: &v1.CephFSVolumeSource{}},
		{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{}},
		{PortworxVolume: &v1.PortworxVolumeSource{}},
		{RBD: &v1.RBDVolumeSource{}},
		{VsphereVolume: &v1.VsphereVirtualDiskVolumeSource{}},
	} {
		list = append(list, volume.NewSpecFromVolume(&v1.Volume{Name: "v", VolumeSource: source}))
	}
	return list
}

// answer returns the plugin's name and its data of the volume, or the error if no plugin takes it.
func answer(plugins *volume.VolumePluginMgr, spec *volume.Spec) string {
	plugin, err := plugins.FindPluginBySpec(spec)
	if err != nil {
		return firstLine(err)
	}
	name, err := plugin.GetVolumeName(spec)
	if err != nil {
		return err.Error()
	}
	says := []string{"called " + name}
	if plugin.RequiresRemount(spec) {
		says = append(says, "set up again and again")
	}
	if plugin.SupportsMountOption() {
		says = append(says, "mount options allowed")
	}
	return fmt.Sprintf("%-27s %s", plugin.GetPluginName(), strings.Join(says, ", "))
}

// firstLine returns an error as far as the list of all plugins.
func firstLine(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), ", which are ")
	return text
}
