package driver

import (
	"context"
	"maps"
	"slices"
	"strconv"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// mutable is the only parameter of VolumeAttributesClasses that the driver knows: the number of operations a second.
// It is recorded, and limits nothing.
const mutable = "iops"

// iopsOf returns the value of that parameter; "" if it is missing, or if the driver takes any parameters (Config.AnyVolume).
func (c *controller) iopsOf(parameters map[string]string) (string, error) {
	if c.cfg.AnyVolume { // they are for another driver
		return "", nil
	}
	if len(parameters) > 0 && !c.cfg.AttributesClasses {
		return "", status.Error(codes.InvalidArgument, "mutable_parameters: volumes cannot be modified")
	}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		if key != mutable {
			return "", status.Errorf(codes.InvalidArgument, "mutable_parameters: %q is not known; there is %s", key, mutable)
		}
		if n, err := strconv.Atoi(parameters[key]); err != nil || n <= 0 {
			return "", status.Errorf(codes.InvalidArgument, "mutable_parameters: %s is %q; it must be a positive number", key, parameters[key])
		}
	}
	return parameters[mutable], nil
}

// ControllerModifyVolume changes the parameter of a volume.
func (c *controller) ControllerModifyVolume(_ context.Context, req *spec.ControllerModifyVolumeRequest) (*spec.ControllerModifyVolumeResponse, error) {
	v, err := c.find(req.GetVolumeId())
	if err != nil {
		return nil, err
	}
	iops, err := c.iopsOf(req.GetMutableParameters())
	if err != nil {
		return nil, err
	}
	if iops != "" && iops != v.IOPS {
		v.IOPS = iops
		if err := c.save(v); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return &spec.ControllerModifyVolumeResponse{}, nil
}
