package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "draw the pictures of the documents anew")

func TestThePicturesOfTheDocumentsAreThoseOfTheirRuns(t *testing.T) {
	pictures, err := draw()
	require.NoError(t, err, "each text has the room that it needs")
	folder := filepath.Join("..", "..", "..", "docs", "images")
	if *update {
		require.NoError(t, writeAll(folder))
	}
	var names []string
	for _, p := range pictures {
		want, err := os.ReadFile(filepath.Join(folder, p.name+".svg"))
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), p.text, "%s; if this is as it should be: go generate ./examples/internal/pictures", p.name)
		names = append(names, p.name+".svg")
		require.True(t, shown(t, p.name), "no document shows %s", p.name)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, names, filepath.Base(file), "it is drawn by nothing")
	}
}

// shown reports whether a document shows a picture.
func shown(t *testing.T, name string) bool {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "*.md"))
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(text), "](images/"+name+".svg)")
	})
}

func TestPicturesShowTheNodesAndEdgesOfTheirRuns(t *testing.T) {
	pictures, err := draw()
	require.NoError(t, err)
	want := map[string]struct{ nodes, edges []string }{
		"actors": {
			[]string{"user", "PV controller", "scheduler", "attach/detach", "csi-provisioner", "csi-attacher", "kubelet node-2"},
			[]string{"user -> API server: pvc, pod, node", "PV controller -> API server: pvc, pv", "csi-provisioner -> API server: pv"},
		},
		"two-pointers": {
			[]string{"pvc data", "pv disk-1"},
			[]string{"PV controller -> API server: pv claimRef", "PV controller -> API server: pvc volumeName", "pvc data -> pv disk-1: volumeName",
				"pv disk-1 -> pvc data: claimRef"},
		},
		"two-cycles": {
			[]string{"scheduler", "API server", "csi-provisioner"},
			[]string{"scheduler: chooses node-2", "scheduler -> API server: pvc: selected-node node-2", "csi-provisioner -> driver: CreateVolume",
				"scheduler -> API server: pod one: nodeName"},
		},
		"local-and-hostpath": {
			[]string{"node-1", "node-2"},
			[]string{"with-hostpath -> node-1: first", "with-hostpath -> node-2: again", "with-local -> node-1: first", "with-local -> no node"},
		},
		"mount-tree": {[]string{"…/globalmount", "pod one", "pod two"},
			[]string{"globalmount -> pod one: NodePublishVolume", "globalmount -> pod two: NodePublishVolume"}},
		"attach-and-mount": {[]string{"attach/detach", "csi-attacher", "driver on node-2"},
			[]string{"csi-attacher -> driver: ControllerPublishVolume", "kubelet node-2 -> driver on node-2: NodeStageVolume"}},
		"csi-pieces": {[]string{"driver", "csi-attacher"},
			[]string{"csi-provisioner -> driver: CreateVolume", "kubelet node-2 -> driver on node-2: NodeStageVolume, NodePublishVolume"}},
		"node-dies": {
			[]string{"node-1", "taint eviction", "kubelet node-2"},
			[]string{"node-1 is NotReady after 55 s", "deletes pod db-0 after 5 min", "detaches the disk after 6 min", "csi-attacher: attaches it to node-2"},
		},
		"csi-unmount": {
			[]string{"kubelet node-2", "driver on node-2"},
			[]string{"kubelet node-2 -> driver on node-2: NodeUnpublishVolume", "kubelet node-2 -> driver on node-2: NodeUnstageVolume",
				"kubelet node-2 -> API server: node: no volumesInUse"},
		},
		"csi-detach": {
			[]string{"attach/detach", "csi-attacher"},
			[]string{"attach/detach -> API server: node: no volumesAttached", "attach/detach -> API server: deletes attachment",
				"csi-attacher -> driver: ControllerUnpublishVolume", "csi-attacher -> API server: removes attachment"},
		},
		"csi-delete": {
			[]string{"PV controller", "csi-provisioner"},
			[]string{"user -> API server: deletes pvc data", "PV controller -> API server: pv: phase Released", "csi-provisioner -> driver: DeleteVolume",
				"csi-provisioner -> API server: deletes pv pvc-558a3044"},
		},
		"openebs-calls": {
			[]string{"syncClaim", "shouldProvision", "Provision", "initPod", "StoreVolume"},
			[]string{"syncClaim -> shouldProvision", "makeDirectory -> initPod", "provisionClaimOperation -> StoreVolume", "Run -> API server: creates pod",
				"StoreVolume -> API server: creates pv"},
		},
	}
	for _, p := range pictures {
		require.Subset(t, p.canvas.nodes, want[p.name].nodes, p.name)
		require.Subset(t, p.canvas.edges, want[p.name].edges, p.name)
		delete(want, p.name)
	}
	require.Empty(t, want)
}

func TestAPictureIsXMLThatLoadsNothing(t *testing.T) {
	pictures, err := draw()
	require.NoError(t, err)
	for _, p := range pictures {
		require.NotContains(t, p.text, "<script")
		require.NotContains(t, strings.ReplaceAll(p.text, `xmlns="http://www.w3.org/2000/svg"`, ""), "http", p.name)
		require.Contains(t, p.text, "prefers-color-scheme:dark")
		d := xml.NewDecoder(strings.NewReader(p.text))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err, p.name)
			}
		}
	}
}

func TestATextWithoutRoomIsAnError(t *testing.T) {
	c := &canvas{height: 100}
	c.say(10, 20, normal, 30, "", "much too long")
	_, err := c.svg()
	require.ErrorContains(t, err, `the text "much too long" is 118 wide and has 30`)
}

func TestWaitsAreSaidInWords(t *testing.T) {
	for ms, want := range map[int64]string{54_900: "55 s", 300_000: "5 min", 125_000: "2 min 5 s", 360_100: "6 min"} {
		require.Equal(t, want, span(ms))
	}
}
