package sidecars

import (
	"context"
	"path"
	"slices"
	"strings"

	csi "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// refuse has the driver refuse the next calls of a method, one for each code.
func (r *rig) refuse(method string, with ...codes.Code) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[method] = with
}

// relent ends all refusals.
func (r *rig) relent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.refused)
}

// intercept refuses the calls that are to be, and leaves out the capabilities that the driver lacks.
func (r *rig) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if code := r.refusal(path.Base(info.FullMethod)); code != codes.OK {
		return nil, status.Error(code, "not this time")
	}
	answer, err := handle(ctx, req)
	switch can := answer.(type) {
	case *csi.ControllerGetCapabilitiesResponse:
		can.Capabilities = slices.DeleteFunc(can.Capabilities, func(c *csi.ControllerServiceCapability) bool {
			return slices.Contains(r.lacks, c.GetRpc().GetType().String())
		})
	case *csi.NodeGetCapabilitiesResponse:
		can.Capabilities = slices.DeleteFunc(can.Capabilities, func(c *csi.NodeServiceCapability) bool {
			return slices.Contains(r.lacks, "NODE_"+c.GetRpc().GetType().String())
		})
	}
	return answer, err
}

// refusal returns what the next call of a method gets, OK if it is to be handled.
func (r *rig) refusal(method string) codes.Code {
	r.mu.Lock()
	defer r.mu.Unlock()
	with := r.refused[method]
	if len(with) == 0 {
		return codes.OK
	}
	if len(with) > 1 || !r.adamant {
		r.refused[method] = with[1:]
	}
	return with[0]
}

// refusals has each call of a volume's life fail before it is carried out.
func refusals(r *rig) {
	r.apply(file(r, "classes"))
	r.refuse("CreateVolume", codes.ResourceExhausted, codes.Internal)
	r.refuse("ControllerPublishVolume", codes.Internal)
	r.step("a volume is made at the third attempt and attached at the second", func() { r.apply(file(r, "writer")) }, r.running(1))
	r.refuse("ControllerExpandVolume", codes.Internal)
	r.step("it grows at the second attempt", func() { r.resize("data", "2Gi") }, r.has("data", "2Gi"))
	r.refuse("CreateSnapshot", codes.Internal)
	r.step("a snapshot is taken at the second attempt", func() { r.apply(file(r, "snapshot")) }, r.ready("monday"))
	r.refuse("DeleteSnapshot", codes.Internal)
	r.step("the snapshot is deleted at the second attempt", func() { r.delete("volumesnapshot/monday") }, func() bool { return len(r.contents()) == 0 })
	r.refuse("ControllerUnpublishVolume", codes.Internal)
	r.refuse("DeleteVolume", codes.Internal)
	r.step("all is deleted, each at the second attempt", func() { r.delete("pod/writer", "pvc/data") }, r.empty)
}

// secrets has each call get the secret of its role.
func secrets(r *rig) {
	r.apply(file(r, "secrets"))
	r.step("a claim becomes a pod's volume", func() { r.apply(file(r, "writer")) }, r.running(1))
	r.step("it grows", func() { r.resize("data", "2Gi") }, r.has("data", "2Gi"))
	r.step("a snapshot is taken", func() { r.apply(file(r, "snapshot")) }, r.ready("monday"))
	r.step("the snapshot is deleted", func() { r.delete("volumesnapshot/monday") }, func() bool { return len(r.contents()) == 0 })
	r.step("all is deleted", func() { r.delete("pod/writer", "pvc/data") }, r.empty)
}

// attributes gives a volume one class after another, one of which the driver refuses.
func attributes(r *rig) {
	r.apply(file(r, "classes"), file(r, "attributes"))
	r.step("a volume is made with a class", func() { r.apply(file(r, "classed")) }, r.bound("data"))
	r.step("it takes another class", func() { r.reclass("data", "fast") }, func() bool {
		now := r.claim("data").Status.CurrentVolumeAttributesClassName
		return now != nil && *now == "fast"
	})
	r.step("it does not take a class of values that mean nothing", func() { r.reclass("data", "wrong") }, func() bool {
		modify := r.claim("data").Status.ModifyVolumeStatus
		return modify != nil && modify.Status == v1.PersistentVolumeClaimModifyVolumeInfeasible
	})
	r.step("all is deleted", func() { r.delete("pvc/data") }, r.empty)
}

// impossible asks for what sidecars refuse, and for what the driver cannot do.
func impossible(r *rig) {
	r.apply(file(r, "classes"))
	r.step("a claim is bound", func() { r.apply(file(r, "writer")) }, r.running(1))
	r.step("the driver does not clone", func() { r.apply(file(r, "cloned")) }, r.said("cloned", "ProvisioningFailed"))
	r.step("a snapshot of a claim that is not bound", func() { r.apply(file(r, "snapshot-of-unbound")) }, r.failed("unbound"))
	r.step("a snapshot is taken", func() { r.apply(file(r, "snapshot")) }, r.ready("monday"))
	r.step("a claim is too small for a snapshot", func() { r.apply(file(r, "restored-small")) }, r.said("small", "ProvisioningFailed"))
	r.step("a snapshot that there is not", func() { r.apply(file(r, "restored-nothing")) }, r.said("nothing", "ProvisioningFailed"))
	r.step("claims and a snapshot that came to nothing are deleted", func() { r.delete("pvc/small", "pvc/nothing", "volumesnapshot/unbound") },
		r.only("data", "cloned"))
	r.step("the snapshot is deleted", func() { r.delete("volumesnapshot/monday") }, func() bool { return len(r.contents()) == 0 })
	r.step("all is deleted", func() { r.delete("pod/writer", "pvc/data", "pvc/cloned") }, r.empty)
}

// only reports whether those claims are left.
func (r *rig) only(claims ...string) func() bool {
	return func() bool {
		list, err := r.cluster.Client().CoreV1().PersistentVolumeClaims("default").List(context.Background(), metav1.ListOptions{})
		require.NoError(r, err)
		var names []string
		for _, claim := range list.Items {
			names = append(names, claim.Name)
		}
		slices.Sort(names)
		slices.Sort(claims)
		return slices.Equal(names, claims)
	}
}

// ready reports whether a snapshot is.
func (r *rig) ready(name string) func() bool {
	return func() bool {
		ready, _, _ := unstructured.NestedBool(r.snapshot(name).Object, "status", "readyToUse")
		return ready
	}
}

// failed reports whether a snapshot has an error.
func (r *rig) failed(name string) func() bool {
	return func() bool {
		message, _, _ := unstructured.NestedString(r.snapshot(name).Object, "status", "error", "message")
		return message != ""
	}
}

// kept has a snapshot outlive its object, and be taken up by another one.
func kept(r *rig) {
	r.apply(file(r, "classes"), file(r, "retain"))
	r.step("a claim is bound", func() { r.apply(file(r, "writer")) }, r.running(1))
	r.step("a snapshot is taken", func() {
		r.apply(strings.ReplaceAll(file(r, "snapshot"), "volumeSnapshotClassName: csi", "volumeSnapshotClassName: retain"))
	}, r.ready("monday"))
	content := r.contents()[0]
	handle, _, err := unstructured.NestedString(content.Object, "status", "snapshotHandle")
	require.NoError(r, err)
	r.step("its object is deleted", func() { r.delete("volumesnapshot/monday") },
		func() bool { return r.contents()[0].GetResourceVersion() != content.GetResourceVersion() })
	r.step("its content is deleted", func() { r.delete("volumesnapshotcontent/" + content.GetName()) }, func() bool { return len(r.contents()) == 0 })
	r.step("another content takes it up", func() { r.apply(strings.ReplaceAll(file(r, "taken-up"), "HANDLE", handle)) }, func() bool {
		ready, _, err := unstructured.NestedBool(r.contents()[0].Object, "status", "readyToUse")
		return err == nil && ready
	})
	r.step("and another object", func() { r.apply(file(r, "of-content")) }, r.ready("monday"))
	r.step("a claim is restored from it", func() { r.apply(file(r, "restored")) }, r.bound("restored"))
	r.step("the restored claim is deleted", func() { r.delete("pvc/restored") }, r.only("data"))
	r.step("the claim is deleted", func() { r.delete("pod/writer", "pvc/data") }, r.empty)
	r.step("the snapshot is deleted", func() { r.delete("volumesnapshot/monday") }, func() bool { return len(r.contents()) == 0 })
}

// infeasible asks for more than the driver can give, and then for less.
func infeasible(r *rig) {
	r.apply(file(r, "classes"))
	r.step("a claim is bound", func() { r.apply(file(r, "writer")) }, r.running(1))
	r.adamant = true
	r.refuse("ControllerExpandVolume", codes.OutOfRange)
	r.step("it cannot grow so far", func() { r.resize("data", "3Gi") }, func() bool {
		return r.claim("data").Status.AllocatedResourceStatuses[v1.ResourceStorage] == v1.PersistentVolumeClaimControllerResizeInfeasible
	})
	r.relent()
	r.step("it grows less", func() { r.resize("data", "2Gi") }, r.has("data", "2Gi"))
	r.step("all is deleted", func() { r.delete("pod/writer", "pvc/data") }, r.empty)
}

// capacity has the provisioner say what each node has left, and the scheduler look at it.
func capacity(r *rig) {
	r.step("the capacity of each node is published", func() { r.apply(file(r, "local")) }, r.left("2Gi", "2Gi"))
	r.step("a volume takes all of a node", func() { r.apply(file(r, "large")) }, r.running(1))
	r.step("the next one goes to the other", func() { r.apply(file(r, "large-2")) }, r.running(2))
}

// left reports whether that capacity is published, of any node.
func (r *rig) left(sizes ...string) func() bool {
	return func() bool {
		list, err := r.cluster.Client().StorageV1().CSIStorageCapacities("").List(context.Background(), metav1.ListOptions{})
		require.NoError(r, err)
		var found []string
		for _, c := range list.Items {
			found = append(found, c.Capacity.String())
		}
		slices.Sort(found)
		return slices.Equal(found, sizes)
	}
}

// ephemeral has a pod bring its claim along.
func ephemeral(r *rig) {
	r.apply(file(r, "local"))
	r.step("a pod brings its claim", func() { r.apply(file(r, "ephemeral")) }, r.running(1))
	r.step("it goes with the pod", func() { r.delete("pod/web") }, r.empty)
}

// across copies a claim and a snapshot of another namespace, first without a grant.
func across(r *rig) {
	r.apply(file(r, "classes"), file(r, "grants"))
	r.step("a claim is bound", func() { r.apply(file(r, "writer")) }, r.running(1))
	r.step("a snapshot is taken", func() { r.apply(file(r, "snapshot")) }, r.ready("monday"))
	r.step("a clone is not granted", func() { r.apply(file(r, "cloned-across")) }, r.saidIn("team", "cloned", "ProvisioningFailed"))
	r.step("it is granted", func() { r.apply(file(r, "granted")) }, r.boundIn("team", "cloned"))
	r.step("so is a snapshot", func() { r.apply(file(r, "restored-across")) }, r.boundIn("team", "restored"))
	r.step("the snapshot is deleted", func() { r.delete("volumesnapshot/monday") }, func() bool { return len(r.contents()) == 0 })
	r.step("the copies are deleted", func() { r.delete("pvc/team/cloned", "pvc/team/restored") }, func() bool {
		return r.claimIn("team", "cloned").Name+r.claimIn("team", "restored").Name == ""
	})
	r.step("all is deleted", func() { r.delete("pod/writer", "pvc/data") }, r.empty)
}

// wrong makes the driver answer that a claim can never be met: then it is not tried again for long.
func wrong(r *rig) {
	r.apply(file(r, "classes"))
	r.refuse("CreateVolume", codes.InvalidArgument)
	r.step("the driver finds the claim wrong", func() { r.apply(file(r, "data")) }, r.said("data", "ProvisioningFailed"))
	r.step("it is deleted", func() { r.delete("pvc/data") }, r.empty)
}

// unable has a claim ask for more of a driver that cannot have volumes grow.
func unable(r *rig) {
	r.apply(file(r, "classes"))
	r.step("a claim is bound", func() { r.apply(file(r, "writer")) }, r.running(1))
	r.step("it does not grow", func() { r.resize("data", "2Gi") }, r.said("data", "ExternalExpanding"))
	r.step("all is deleted", func() { r.delete("pod/writer", "pvc/data") }, r.empty)
}

// onNodes has the provisioners of nodes share the claims: where the pod is to run, and where the
// class has volumes.
func onNodes(r *rig) {
	r.step("a pod's volume is made by its node", func() { r.apply(file(r, "topology")) }, r.running(1))
	r.step("a claim is taken by the node of its class", func() { r.apply(file(r, "on-node-2")) }, r.bound("kept"))
	r.step("it is deleted by that node", func() { r.delete("pvc/kept") }, r.only("data"))
	r.step("the pod is deleted", func() { r.delete("pod/web") }, r.running(0))
	r.step("its volume is deleted by its node", func() { r.delete("pvc/data") }, r.empty)
}
