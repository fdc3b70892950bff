package kubelet

import (
	"errors"
	"fmt"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/volumemanager"
)

// fileVariable returns the value of a variable that a file of a volume assigns. One that is optional may be absent from the file, or be empty;
// the file itself must be there, and be well formed up to the variable.
//
// Upstream: kubelet_pods.go makeEnvironmentVariables, v1.37.2.
func (k *kubelet) fileVariable(ref *v1.FileKeySelector, volumes map[string]volumemanager.MountedVolume) (value string, found bool, err error) {
	volume, ok := volumes[ref.VolumeName]
	if !ok {
		return "", false, fmt.Errorf("cannot find the volume %q referenced by FileKeyRef", ref.VolumeName)
	}
	data, err := k.readInVolume(volume.Path, ref.Path)
	if err == nil {
		value, err = parseEnv(string(data), ref.Key)
	}
	if err != nil {
		return "", false, errors.New("couldn't parse env file") // a client is not told more
	}
	if value == "" && (ref.Optional == nil || !*ref.Optional) {
		return "", false, fmt.Errorf("environment variable key %q not found in file %q", ref.Key, path.Join(volume.Path, ref.Path))
	}
	return value, value != "", nil
}

// readInVolume reads a file of a volume. Links that lead out of the volume are refused.
func (k *kubelet) readInVolume(volume, name string) ([]byte, error) {
	files, err := k.fs.Sub(volume)
	if err != nil {
		return nil, err
	}
	data, err := files.ReadFile(path.Join("/", name))
	return data, errors.Join(err, files.Close())
}

// parseEnv returns what a text assigns to a variable first, "" if it does not: lines NAME='VALUE' in which the value may go on in the next
// line and nothing but a comment follows it, empty lines, and comments. NAME= and a space assign nothing. What follows the variable is not
// looked at.
//
// Upstream: pkg/kubelet/util/env ParseEnv, v1.37.2.
func parseEnv(text, key string) (string, error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for len(lines) > 0 {
		line := strings.TrimLeft(lines[0], " \t")
		lines = lines[1:]
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, assigns := strings.Cut(line, "=")
		if !assigns || name == "" || strings.TrimRight(name, " \t") != name {
			return "", fmt.Errorf("%q assigns to no variable", line)
		}
		quoted, isQuoted := strings.CutPrefix(value, "'")
		if !isQuoted {
			if value == "" || value[0] != ' ' && value[0] != '\t' {
				return "", fmt.Errorf("the value in %q has no quotes", line)
			}
			if name == key {
				return "", nil
			}
			continue
		}
		for !strings.Contains(quoted, "'") {
			if len(lines) == 0 {
				return "", fmt.Errorf("the value in %q has no end", line)
			}
			quoted, lines = quoted+"\n"+lines[0], lines[1:]
		}
		quoted, rest, _ := strings.Cut(quoted, "'")
		if rest = strings.TrimLeft(rest, " \t"); rest != "" && rest[0] != '#' {
			return "", fmt.Errorf("%q follows a value", rest)
		}
		if name == key {
			return quoted, nil
		}
	}
	return "", nil
}
