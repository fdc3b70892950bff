package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// defaultSize is the size of a volume if the request names none.
const defaultSize = 1 << 30

// controller is the controller server, and the group controller server.
type controller struct {
	spec.UnimplementedControllerServer
	spec.UnimplementedGroupControllerServer
	*Backend
}

func (c *controller) ControllerGetCapabilities(context.Context, *spec.ControllerGetCapabilitiesRequest) (*spec.ControllerGetCapabilitiesResponse, error) {
	can := []spec.ControllerServiceCapability_RPC_Type{
		spec.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, spec.ControllerServiceCapability_RPC_LIST_VOLUMES,
		spec.ControllerServiceCapability_RPC_GET_CAPACITY,
		spec.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	}
	if !c.cfg.NoSnapshots {
		can = append(can, spec.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT, spec.ControllerServiceCapability_RPC_LIST_SNAPSHOTS)
	}
	if !c.cfg.NoClones {
		can = append(can, spec.ControllerServiceCapability_RPC_CLONE_VOLUME)
	}
	if c.cfg.AttributesClasses {
		can = append(can, spec.ControllerServiceCapability_RPC_MODIFY_VOLUME)
	}
	if !c.cfg.NoAttach {
		can = append(can, spec.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME, spec.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES)
	}
	answer := &spec.ControllerGetCapabilitiesResponse{}
	for _, t := range can {
		answer.Capabilities = append(answer.Capabilities, &spec.ControllerServiceCapability{
			Type: &spec.ControllerServiceCapability_Rpc{Rpc: &spec.ControllerServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

// CreateVolume creates a volume, or returns the one of that name if it agrees with the request.
func (c *controller) CreateVolume(_ context.Context, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	switch {
	case req.GetName() == "":
		return nil, status.Error(codes.InvalidArgument, "name is missing")
	case len(req.GetVolumeCapabilities()) == 0:
		return nil, status.Error(codes.InvalidArgument, "volume_capabilities are missing")
	}
	if err := checkCapabilities(req.GetVolumeCapabilities()); err != nil {
		return nil, err
	}
	size, err := sizeOf(req.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	iops, err := c.iopsOf(req.GetMutableParameters())
	if err != nil {
		return nil, err
	}
	wanted := &volume{ID: c.cfg.handle(req.GetName()), Name: req.GetName(), Size: size, IOPS: iops,
		Block: req.GetVolumeCapabilities()[0].GetBlock() != nil}
	switch found, err := c.load(wanted.ID); {
	case err == nil:
		return c.existing(found, wanted, req)
	case !errors.Is(err, errNoVolume):
		return nil, status.Error(codes.Internal, err.Error())
	}
	return c.create(wanted, req)
}

// create creates a volume that does not exist yet.
func (c *controller) create(wanted *volume, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	from, err := c.contentOf(req.GetVolumeContentSource())
	if req.GetCapacityRange().GetRequiredBytes() == 0 && req.GetCapacityRange().GetLimitBytes() == 0 {
		wanted.Size = max(wanted.Size, from.size)
	}
	if err == nil {
		err = from.check(wanted)
	}
	if err != nil {
		return nil, err
	}
	wanted.From = from
	if wanted.Node, err = c.place(req.GetAccessibilityRequirements()); err != nil {
		return nil, err
	}
	if free := c.free(wanted.Node); free < wanted.Size {
		return nil, status.Errorf(codes.ResourceExhausted, "%d bytes are asked for, and %d are free", wanted.Size, free)
	}
	if err := c.make(wanted); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &spec.CreateVolumeResponse{Volume: c.describe(wanted)}, nil
}

// make creates the volume's files. volume.json comes last: with it the volume exists.
func (c *controller) make(v *volume) error {
	data := path.Join(c.dir(v.ID), "data")
	filled := v.From != content{}
	var err error
	if filled {
		err = c.copyData(v.From.data, c.dir(v.ID))
	} else {
		err = c.disk.MkdirAll(data, 0o755)
	}
	if err != nil {
		return err
	}
	if err := c.bound(v); err != nil {
		return err
	}
	if v.Block && !filled {
		if err := c.disk.WriteFile(path.Join(data, "device"), nil, 0o660); err != nil {
			return err
		}
	}
	if err := c.save(v); err != nil {
		return err
	}
	c.used[v.Node] += v.Size
	return nil
}

// existing answers for the volume that has the name already.
func (c *controller) existing(found, wanted *volume, req *spec.CreateVolumeRequest) (*spec.CreateVolumeResponse, error) {
	limit := req.GetCapacityRange().GetLimitBytes()
	if found.Size < req.GetCapacityRange().GetRequiredBytes() || limit > 0 && found.Size > limit || found.Block != wanted.Block {
		return nil, status.Errorf(codes.AlreadyExists, "volume %s exists with another size or type", found.Name)
	}
	if source := req.GetVolumeContentSource(); found.From.Snapshot != source.GetSnapshot().GetSnapshotId() ||
		found.From.Volume != source.GetVolume().GetVolumeId() {
		return nil, status.Errorf(codes.AlreadyExists, "volume %s exists with another content", found.Name)
	}
	return &spec.CreateVolumeResponse{Volume: c.describe(found)}, nil
}

// sizeOf returns the size for a new volume.
func sizeOf(asked *spec.CapacityRange) (int64, error) {
	required, limit := asked.GetRequiredBytes(), asked.GetLimitBytes()
	switch {
	case required < 0 || limit < 0 || limit > 0 && limit < required:
		return 0, status.Errorf(codes.OutOfRange, "capacity_range: required_bytes %d and limit_bytes %d cannot both hold", required, limit)
	case required > 0:
		return required, nil
	case limit > 0:
		return min(limit, defaultSize), nil
	}
	return defaultSize, nil
}

// checkCapabilities refuses capabilities that the specification or this driver does not have.
func checkCapabilities(wanted []*spec.VolumeCapability) error {
	for _, w := range wanted {
		switch {
		case w.GetAccessMode() == nil || w.GetAccessMode().GetMode() == spec.VolumeCapability_AccessMode_UNKNOWN:
			return status.Error(codes.InvalidArgument, "volume_capability: access_mode is missing")
		case w.GetBlock() == nil && w.GetMount() == nil:
			return status.Error(codes.InvalidArgument, "volume_capability: access_type is missing")
		case (w.GetBlock() != nil) != (wanted[0].GetBlock() != nil):
			return status.Error(codes.InvalidArgument, "volume_capabilities: a volume is a block or a mount volume, not both")
		}
	}
	return nil
}

// DeleteVolume removes a volume. A volume that does not exist is no error.
func (c *controller) DeleteVolume(_ context.Context, req *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	if req.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id is missing")
	}
	v, err := c.load(req.GetVolumeId())
	switch {
	case errors.Is(err, errNoVolume):
		return &spec.DeleteVolumeResponse{}, nil
	case err != nil:
		return nil, status.Error(codes.Internal, err.Error())
	case len(v.Attached) > 0:
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached", v.ID)
	}
	if err := c.disk.RemoveAll(c.dir(v.ID)); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	c.used[v.Node] -= v.Size
	return &spec.DeleteVolumeResponse{}, nil
}

func (c *controller) ValidateVolumeCapabilities(_ context.Context,
	req *spec.ValidateVolumeCapabilitiesRequest) (*spec.ValidateVolumeCapabilitiesResponse, error) {
	v, err := c.find(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if len(req.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume_capabilities are missing")
	}
	if err := checkCapabilities(req.GetVolumeCapabilities()); err != nil {
		return nil, err
	}
	if block := req.GetVolumeCapabilities()[0].GetBlock() != nil; v.Block != block {
		kinds := map[bool]string{true: "block", false: "mount"}
		return &spec.ValidateVolumeCapabilitiesResponse{Message: fmt.Sprintf("volume %s is a %s volume; the capabilities are of type %s", v.ID, kinds[v.Block],
			kinds[block])}, nil
	}
	return &spec.ValidateVolumeCapabilitiesResponse{Confirmed: &spec.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: req.GetVolumeContext(), VolumeCapabilities: req.GetVolumeCapabilities(), Parameters: req.GetParameters(),
	}}, nil
}

// find returns the volume of a request. Its error is a status.
func (b *Backend) find(id string) (*volume, error) {
	if id == "" {
		return nil, status.Error(codes.InvalidArgument, "volume_id is missing")
	}
	v, err := b.load(id)
	switch {
	case errors.Is(err, errNoVolume):
		return nil, status.Errorf(codes.NotFound, "there is no volume %s", id)
	case err != nil:
		return nil, status.Error(codes.Internal, err.Error())
	}
	return v, nil
}

// ListVolumes lists volumes by ID. A token is the number of the next one.
func (c *controller) ListVolumes(_ context.Context, req *spec.ListVolumesRequest) (*spec.ListVolumesResponse, error) {
	all, err := c.volumes()
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	from, to, next, err := page(len(all), req.GetStartingToken(), int(req.GetMaxEntries()))
	if err != nil {
		return nil, err
	}
	answer := &spec.ListVolumesResponse{NextToken: next}
	for _, v := range all[from:to] {
		answer.Entries = append(answer.Entries, &spec.ListVolumesResponse_Entry{
			Volume: c.describe(v), Status: &spec.ListVolumesResponse_VolumeStatus{PublishedNodeIds: v.nodes()},
		})
	}
	return answer, nil
}

// page returns the part of a list that a request asks for, and the token of the rest: the number of the next entry.
func page(length int, token string, most int) (from, to int, next string, err error) {
	if token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 || from > length {
			return 0, 0, "", status.Errorf(codes.Aborted, "starting_token %q is none that was given", token)
		}
	}
	if most > 0 && from+most < length {
		return from, from + most, strconv.Itoa(from + most), nil
	}
	return from, length, "", nil
}

// GetCapacity returns the free bytes: with topology, on the node of the request, or on all nodes together. Then no
// volume can be larger than the room on a single node.
func (c *controller) GetCapacity(_ context.Context, req *spec.GetCapacityRequest) (*spec.GetCapacityResponse, error) {
	if err := checkCapabilities(req.GetVolumeCapabilities()); err != nil {
		return &spec.GetCapacityResponse{}, nil //nolint:nilerr // what cannot be created has no capacity
	}
	if !c.cfg.Topology {
		return &spec.GetCapacityResponse{AvailableCapacity: c.free("")}, nil
	}
	answer, largest := &spec.GetCapacityResponse{}, int64(0)
	node, one := req.GetAccessibleTopology().GetSegments()[c.topologyKey()]
	for name := range c.nodes {
		if !one || name == node {
			answer.AvailableCapacity += min(c.free(name), math.MaxInt64-answer.AvailableCapacity)
			largest = max(largest, c.free(name))
		}
	}
	answer.MaximumVolumeSize = wrapperspb.Int64(largest)
	return answer, nil
}

// describe returns a volume as answers have it.
func (c *controller) describe(v *volume) *spec.Volume {
	answer := &spec.Volume{VolumeId: v.ID, CapacityBytes: v.Size, ContentSource: v.From.describe()}
	if v.Node != "" {
		answer.AccessibleTopology = []*spec.Topology{{Segments: map[string]string{c.topologyKey(): v.Node}}}
	}
	if key := c.cfg.HandleAttribute; key != "" {
		answer.VolumeContext = map[string]string{key: v.ID}
	}
	return answer
}

// handle returns the ID of the volume of a name.
func (cfg Config) handle(name string) string {
	return strings.NewReplacer("{id}", idOf(name), "{name}", name).Replace(cmp.Or(cfg.Handle, "{id}"))
}

func (b *Backend) topologyKey() string {
	return cmp.Or(b.cfg.TopologyKey, "topology."+b.cfg.Name+"/node")
}

// place returns the node for a new volume: the first preferred one.
func (c *controller) place(asked *spec.TopologyRequirement) (string, error) {
	if !c.cfg.Topology {
		return "", nil
	}
	for _, t := range slices.Concat(asked.GetPreferred(), asked.GetRequisite()) {
		if node := t.GetSegments()[c.topologyKey()]; node != "" {
			return node, nil
		}
	}
	if len(asked.GetRequisite()) > 0 {
		return "", status.Errorf(codes.ResourceExhausted, "none of the required topologies has the key %s", c.topologyKey())
	}
	return "", nil
}
