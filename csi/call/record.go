package call

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/storagesim/storagesim/trace"
)

// Routine reports whether a method, such as "Probe", is called again and again.
func Routine(method string) bool {
	return slices.Contains([]string{
		"Probe", "GetPluginInfo", "GetPluginCapabilities", "ControllerGetCapabilities", "NodeGetCapabilities", "GroupControllerGetCapabilities",
		"GetCapacity", "NodeGetVolumeStats", "ListVolumes", "ListSnapshots", "GetInfo", "ControllerGetVolume",
	}, method)
}

// record returns the trace's record of the call.
func (c *invocation) record(err error, took time.Duration) trace.RPC {
	full := strings.TrimPrefix(c.method, "/")
	service, method, _ := strings.Cut(full, "/")
	r := trace.RPC{
		Driver: c.driver, Machine: c.at.Machine, Service: service, Method: method, Request: fieldsOf(c.req),
		Code: status.Code(err).String(), Took: took, Fault: c.fault, Stack: c.stack, Routine: Routine(method),
	}
	if r.Driver == "" {
		r.Driver = c.at.Path
	}
	if err != nil {
		r.Err = status.Convert(err).Message()
	} else {
		r.Answer = fieldsOf(c.answer)
	}
	return r
}

func shortMethod(full string) string { return full[strings.LastIndex(full, "/")+1:] }

// volumeOf returns the volume that a request is about: its ID, or the name of a new one.
func volumeOf(req any) string {
	switch req := req.(type) {
	case interface{ GetVolumeId() string }:
		return req.GetVolumeId()
	case *csi.CreateVolumeRequest:
		return req.GetName()
	}
	return ""
}

// fieldsOf returns the fields of a message that are set, secrets stripped.
func fieldsOf(message any) map[string]any {
	m, ok := message.(proto.Message)
	if !ok {
		return nil
	}
	return fieldsOfMessage(m.ProtoReflect())
}

func fieldsOfMessage(m protoreflect.Message) map[string]any {
	fields := map[string]any{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(f.Name())
		switch {
		case f.IsMap():
			values := map[string]any{}
			v.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
				if isSecret(f) {
					values[key.String()] = trace.Stripped
				} else {
					values[key.String()] = valueOf(f.MapValue(), value)
				}
				return true
			})
			fields[name] = values
		case isSecret(f):
			fields[name] = trace.Stripped
		case f.IsList():
			var values []any
			for i := range v.List().Len() {
				values = append(values, valueOf(f, v.List().Get(i)))
			}
			fields[name] = values
		default:
			fields[name] = valueOf(f, v)
		}
		return true
	})
	return fields
}

func valueOf(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return fieldsOfMessage(v.Message())
	case protoreflect.EnumKind:
		if value := f.Enum().Values().ByNumber(v.Enum()); value != nil {
			return string(value.Name())
		}
		return fmt.Sprint(v.Enum())
	case protoreflect.BytesKind:
		return fmt.Sprintf("%d bytes", len(v.Bytes()))
	}
	return v.Interface()
}

// isSecret reports whether the CSI specification marks a field as a secret.
func isSecret(f protoreflect.FieldDescriptor) bool {
	options := f.Options()
	return options != nil && proto.HasExtension(options, csi.E_CsiSecret)
}
