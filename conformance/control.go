package conformance

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/socket"
)

// setting is one thing that a step "driver" does with drivers.
type setting struct {
	name    string   // a key of settings
	value   string   // "" if the control has none
	drivers []string // all, if the control names none
	nodes   []string // all, if the control names none
}

// settings are the controls of drivers by name. Each takes a path, "/limit?driver=D&limit=1", or an argument
// of the path set, "/set?limit=1".
var settings = map[string]func(r *replay, s setting) error{
	"caps":     setCapabilities,
	"lateSnap": setLateSnapshots,
	"limit":    setLimit,
	"modify":   setModify,
	"node":     setNode,
	"restart":  restartDrivers,
}

// control carries out a step "driver".
func (r *replay) control(what string) error {
	list, err := r.readControl(what)
	for _, s := range list {
		if err == nil {
			err = settings[s.name](r, s)
		}
	}
	if err != nil {
		return bad("driver: %q: %w", what, err)
	}
	return nil
}

// readControl reads a control: "/set?lateSnap=1&limit=2", "/caps?driver=D&without=A,B", "/node?driver=D&node=node-1&on=0".
// The arguments driver and node say what is meant; any other one is the setting's value.
func (r *replay) readControl(what string) ([]setting, error) {
	address, err := url.Parse(what)
	if err != nil {
		return nil, err
	}
	arguments, err := url.ParseQuery(address.RawQuery)
	if err != nil {
		return nil, err
	}
	words := strings.FieldsFunc(address.Path, func(c rune) bool { return c == '/' })
	about := setting{drivers: testDrivers()}
	if driver := arguments.Get("driver"); driver != "" {
		if !slices.Contains(about.drivers, driver) {
			return nil, fmt.Errorf("there is no driver %q", driver)
		}
		about.drivers = []string{driver}
	}
	for _, node := range nodesOf(r.rec) {
		if named := arguments.Get("node"); named == "" || named == node.Name || named == "id-"+node.Name {
			about.nodes = append(about.nodes, node.Name)
		}
	}
	if len(about.nodes) == 0 {
		return nil, fmt.Errorf("there is no node %q", arguments.Get("node"))
	}
	arguments.Del("driver")
	arguments.Del("node")
	if len(words) == 1 && words[0] == "set" {
		return about.each(arguments)
	}
	return about.one(words, arguments)
}

// each returns a setting for each argument.
func (s setting) each(arguments url.Values) (list []setting, err error) {
	for _, s.name = range sortedKeys(arguments) {
		if settings[s.name] == nil {
			return nil, fmt.Errorf("%q is not a known setting: expected one of %q", s.name, sortedKeys(settings))
		}
		s.value = arguments.Get(s.name)
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, errors.New("it sets nothing")
	}
	return list, nil
}

// one returns the setting that the first word of a path names. Its value is the second word or the argument:
// "/node/off", "/node?on=0" and "/node?off" are the same.
func (s setting) one(words []string, arguments url.Values) ([]setting, error) {
	if len(words) == 0 || len(words) > 2 || settings[words[0]] == nil {
		return nil, fmt.Errorf(`it is not a known control: expected "/set" or one of %q as its path`, sortedKeys(settings))
	}
	s.name = words[0]
	values := words[1:]
	for _, key := range sortedKeys(arguments) {
		switch value := arguments.Get(key); {
		case key == "on" || key == "off":
			values = append(values, switched(key, value))
		default:
			values = append(values, value)
		}
	}
	if len(values) > 1 {
		return nil, fmt.Errorf("expected one value, got %q", values)
	}
	s.value = strings.Join(values, "")
	return []setting{s}, nil
}

// switched returns "on" or "off" for an argument "on" or "off" that may be taken back: on=0 is "off".
func switched(key, value string) string {
	no := slices.Contains([]string{"0", "no", "false", "off"}, value)
	if no == (key == "on") {
		return "off"
	}
	return "on"
}

// of returns the drivers that a setting is about.
func (r *replay) of(s setting) []*testDriver {
	return slices.DeleteFunc(slices.Clone(r.drivers), func(d *testDriver) bool { return !slices.Contains(s.drivers, d.name) })
}

// number returns the value of a setting that is a number.
func (s setting) number() (int, error) {
	n, err := strconv.Atoi(s.value)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q: expected a number from 0", s.name, s.value)
	}
	return n, nil
}

// setLateSnapshots says how many further answers say that the snapshot is not ready yet.
func setLateSnapshots(r *replay, s setting) error {
	n, err := s.number()
	for _, d := range r.of(s) {
		d.notReady = n
	}
	return err
}

// setCapabilities takes capabilities from controllers; those that were taken before come back.
func setCapabilities(r *replay, s setting) error {
	for _, d := range r.of(s) {
		d.without = strings.FieldsFunc(s.value, func(c rune) bool { return c == ',' })
	}
	return nil
}

// setLimit sets how many volumes can be attached to a node. 0 takes the limit away.
func setLimit(r *replay, s setting) error {
	n, err := s.number()
	for _, d := range r.of(s) {
		d.limit = n
	}
	return err
}

// setModify says whether volumes can be modified, as a VolumeAttributesClass asks for: 1 or 0.
func setModify(r *replay, s setting) error {
	n, err := s.number()
	for _, d := range r.of(s) {
		d.modify = n > 0
	}
	return err
}

// setNode ends the drivers' processes on nodes and removes their sockets, so that kubelets forget the drivers, or starts them.
func setNode(r *replay, s setting) error {
	switch s.value {
	case "off", "stop":
		return errors.Join(r.each(s, r.cluster.Stop), r.removeSockets(s))
	case "on", "start":
		return r.each(s, r.cluster.Start)
	}
	return fmt.Errorf("node: %q: expected on or off", s.value)
}

// removeSockets removes the sockets of drivers and of their registrars on nodes.
func (r *replay) removeSockets(s setting) error {
	for _, driver := range s.drivers {
		for _, node := range s.nodes {
			for _, file := range []string{csi.NodeSocket(driver), path.Join(rootDir, "plugins_registry", driver+"-reg.sock")} {
				if at := socket.At("node/"+node, file); r.cluster.Lab().Sockets().HasFile(at) {
					if err := r.cluster.Lab().Sockets().RemoveFile(at); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// restartDrivers kills the drivers' processes, which start again at once and register again. Their volumes stay.
func restartDrivers(r *replay, s setting) error {
	for _, driver := range s.drivers {
		if err := r.cluster.Crash("csi-driver/" + driver); err != nil {
			return err
		}
	}
	return r.each(s, r.cluster.Crash)
}

// each does something with the driver and its registrar on each node.
func (r *replay) each(s setting, do func(actor string) error) error {
	for _, driver := range s.drivers {
		for _, node := range s.nodes {
			if err := errors.Join(do("csi-driver/"+driver+"/"+node), do("csi-registrar/"+driver+"/"+node)); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse returns an error of a driver, in the words that the recorded driver had for its code. Only if the recording has
// none, the driver has its own.
func (d *testDriver) refuse(code codes.Code, format string, args ...any) error {
	if d.words != nil {
		if words := d.words(code); words != "" {
			return status.Error(code, words)
		}
	}
	return status.Errorf(code, format, args...)
}

// words returns what the recorded driver said with an error of that code, as the first event about it tells, without
// the errors that steps injected.
func (r *Recording) words(code codes.Code) string {
	for _, step := range r.Steps {
		for _, e := range step.Writes {
			_, words, told := strings.Cut(e.Message, "code = "+code.String()+" desc = ")
			if told && e.Event != "" && !strings.HasPrefix(words, "injected") {
				return words
			}
		}
	}
	return ""
}
