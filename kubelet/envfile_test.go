package kubelet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet"
)

func fromFile(name, key string, optional bool) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{
		VolumeName: "env", Path: "d/f", Key: key, Optional: &optional,
	}}}
}

// withEnvFile returns a pod that makes a directory of each word, with variables from a file that its init container has written.
func withEnvFile(content string, env []v1.EnvVar, words ...string) *v1.Pod {
	p := withEnvironment(env, words...)
	p.Spec.Volumes = append(p.Spec.Volumes, volumeOf("env", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}))
	p.Spec.InitContainers = []v1.Container{{
		Name: "i", Image: "busybox", VolumeMounts: []v1.VolumeMount{{Name: "env", MountPath: "/env"}},
		Command: []string{"sh", "-c", `mkdir /env/d; test -z "$CONTENT" || printf "$CONTENT" > /env/d/f`}, Env: []v1.EnvVar{{Name: "CONTENT", Value: content}},
	}}
	return p
}

// Upstream: kubelet_pods.go makeEnvironmentVariables, v1.37.2.
func TestAVariableOfAFileIsWhatAnInitContainerHasWritten(t *testing.T) {
	w := simple(t)
	env := []v1.EnvVar{fromFile("A", "KEY", false), {Name: "B", Value: "$(A)-two"}, fromFile("C", "NONE", true)}
	w.create(withEnvFile(`# words\nOTHER='0'\nKEY='one' # the first\n`, env, "/disk/$(A)", "/disk/$(B)", "/disk/$(C)"))
	w.settle()
	names, err := w.node.List("/disk")
	require.NoError(t, err)
	require.Equal(t, []string{"$(C)/", "data/", "one/", "one-two/"}, names)
}

func TestAVariableOfAFileThatIsNotThereKeepsItsContainerWaiting(t *testing.T) {
	for name, test := range map[string]struct {
		content, want string
		optional      bool
	}{
		"no file":              {"", "couldn't parse env file", false},
		"no optional file":     {"", "couldn't parse env file", true},
		"no quotes":            {`KEY=one\n`, "couldn't parse env file", true},
		"no key":               {`OTHER='one'\n`, "/volumes/kubernetes.io~empty-dir/env/d/f\"", false},
		"an empty one":         {`KEY= 'one'\n`, "/volumes/kubernetes.io~empty-dir/env/d/f\"", false},
		"not in a container's": {"UNMOUNTED", `cannot find the volume "env" referenced by FileKeyRef`, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			p := withEnvFile(test.content, []v1.EnvVar{fromFile("A", "KEY", test.optional)}, "/disk/made")
			want := test.want
			if test.content == "UNMOUNTED" {
				p.Spec.InitContainers = nil
			}
			p = w.create(p)
			w.settle()
			if want[0] == '/' {
				want = `environment variable key "KEY" not found in file "/var/lib/kubelet/pods/` + string(p.UID) + want
			}
			w.requireWaiting("maker", "c", "CreateContainerConfigError", want)
			w.requireEvent("maker", "Failed", "Error: "+want)
		})
	}
}

// Upstream: pkg/kubelet/util/env ParseEnv, v1.37.2.
func TestAnEnvironmentFileIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n \t\n# KEY='x'\n": "", "KEY='one'": "one", "  KEY='a b'\r\n": "a b", "KEY='one'#x": "one", "KEY='one'\t # x": "one",
		"KEY='a\n\n#b'\n": "a\n\n#b", "KEY='$X \\'": "$X \\", "KEY='a'\nKEY='b'": "a", "KEY= 'a'\nKEY='b'": "", "X= a\nKEY='b'": "b", "KEY='a'\nnothing": "a",
		"KEY=''": "",
	} {
		value, err := kubelet.ParseEnv(text, "KEY")
		require.NoError(t, err, text)
		assert.Equal(t, want, value, text)
	}
	for _, text := range []string{"KEY", "='a'", "KEY ='a'", "KEY=a", "KEY=", `KEY="a"`, "KEY='a", "KEY='a\n", "KEY='a' b", "KEY='a''b'", "X\nKEY='a'"} {
		_, err := kubelet.ParseEnv(text, "KEY")
		assert.Error(t, err, text)
	}
}
