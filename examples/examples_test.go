// Package examples_test compares what each example prints with its output.txt.
package examples_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected output")

const module = "github.com/storagesim/storagesim"

func TestEachExamplePrintsWhatIsExpected(t *testing.T) {
	outputs, err := filepath.Glob("*/output.txt")
	require.NoError(t, err)
	require.Greater(t, len(outputs), 20)
	var names []string
	for _, file := range outputs {
		names = append(names, filepath.Dir(file))
	}
	program := linked(t, names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var complaints bytes.Buffer
			cmd := exec.Command(program, name)
			cmd.Dir, cmd.Stderr = name, &complaints
			got, err := cmd.Output()
			require.NoError(t, err, complaints.String())
			file := filepath.Join(name, "output.txt")
			if *update {
				require.NoError(t, os.WriteFile(file, got, 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

// linked makes one program of the examples, which plays that of its first argument: to link each takes longer than all of them run.
// An example is a program, and none can be imported, so that the compiler is shown each as a package, by an overlay.
func linked(t *testing.T, names []string) string {
	t.Helper()
	temp := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	show := func(file, text string) {
		file, err := filepath.Abs(file)
		require.NoError(t, err)
		shown := filepath.Join(temp, fmt.Sprint(len(overlay.Replace), ".go"))
		require.NoError(t, os.WriteFile(shown, []byte(text), 0o600))
		overlay.Replace[file] = shown
	}
	var imports, mains strings.Builder
	for i, name := range names {
		fmt.Fprintf(&imports, "import p%d %q\n", i, module+"/examples/"+name)
		fmt.Fprintf(&mains, "%q: p%d.Main, ", name, i)
		sources, err := filepath.Glob(name + "/*.go")
		require.NoError(t, err)
		for _, file := range sources {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			shown := strings.Replace("\n"+string(text), "\npackage main\n", "\npackage example\n", 1)[1:]
			if filepath.Base(file) == "main.go" {
				shown += "\nfunc Main() { main() }\n"
			}
			show(file, shown)
		}
	}
	show("internal/all/main.go", "package main\n\nimport \"os\"\n"+imports.String()+
		"\nfunc main() {\n\tos.Args = os.Args[1:]\n\tmap[string]func(){"+mains.String()+"}[os.Args[0]]()\n}\n")

	text, err := json.Marshal(overlay)
	require.NoError(t, err)
	file := filepath.Join(temp, "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	program := filepath.Join(temp, "examples.exe")
	goes(t, "build", "-overlay", file, race(), "-ldflags", "-s -w", "-o", program, "./internal/all")
	look(t, goes(t, "list", "-overlay", file, "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "./internal/all"))
	return program
}

// race reports whether this test is built with the race detector, as a flag of the go command.
func race() string {
	info, ok := debug.ReadBuildInfo()
	with := ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
	return fmt.Sprint("-race=", with)
}

// look looks at each file of the program: `go test` plays a test again only if a file changed at which it looked.
func look(t *testing.T, folders string) {
	t.Helper()
	for folder := range strings.Lines(folders) {
		files, err := os.ReadDir(strings.TrimSpace(folder))
		if os.IsNotExist(err) { // internal/all
			continue
		}
		require.NoError(t, err)
		for _, file := range files {
			_, err := os.Stat(filepath.Join(strings.TrimSpace(folder), file.Name()))
			require.NoError(t, err)
		}
	}
}

// goes returns what a go command prints.
func goes(t *testing.T, args ...string) string {
	t.Helper()
	var complaints bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &complaints)
	return string(out)
}
