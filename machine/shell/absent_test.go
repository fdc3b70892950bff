package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/shell"
)

// A program that is not there is taken for one of the image only where its 127 would end the container's own script.
func TestAnAbsentProgramIsTakenWhereItWouldEndTheScript(t *testing.T) {
	script := func(shell, text string) []string { return []string{shell, "-c", text} }
	for name, tt := range map[string]struct {
		argv  []string
		taken string
	}{
		"the command itself":                   {[]string{"start-zookeeper", "--servers=3"}, "start-zookeeper"},
		"by a path outside of the volumes":     {[]string{"/opt/bin/start"}, "start"},
		"by a path in a volume":                {[]string{"/data/start"}, ""},
		"the last command":                     {script("sh", "echo a; start --x"), "start"},
		"with a redirection":                   {script("sh", "start > /data/log 2>&1"), "start"},
		"exec":                                 {script("sh", "if true; then exec start; fi; echo never"), "start"},
		"in the middle of set -e":              {script("sh", "set -e; start; echo next"), "start"},
		"in the middle":                        {script("sh", "start; echo next; sleep 1000"), ""},
		"the last one of an if that ends it":   {script("sh", "if [ -z \"$x\" ]; then start; fi"), "start"},
		"after &&":                             {script("sh", "true && start"), "start"},
		"of a function":                        {script("sh", "f() { start; }; f"), "start"},
		"of a case":                            {script("sh", "case a in a) start;; esac"), "start"},
		"evaluated":                            {script("sh", "eval start"), "start"},
		"a condition":                          {script("sh", "set -e; if start; then echo yes; fi; sleep 1000"), ""},
		"before ||":                            {script("sh", "start || sleep 1000"), ""},
		"after ||":                             {script("sh", "false || start"), ""},
		"before &&":                            {script("sh", "start && echo yes"), ""},
		"negated":                              {script("sh", "! start"), ""},
		"until":                                {script("sh", "until start; do sleep 1000; done"), ""},
		"in a loop":                            {script("sh", "for i in 1 2; do start; done"), ""},
		"in a pipe":                            {script("sh", "set -e; echo a | start"), ""},
		"a substitution":                       {script("sh", "echo $(start)"), ""},
		"a subshell":                           {script("sh", "(start)"), ""},
		"in the background":                    {script("sh", "start & wait"), ""},
		"command -v":                           {script("sh", "command -v start"), ""},
		"another shell":                        {script("sh", "sh -c start"), ""},
		"a script with an array":               {script("bash", "a=(1 2); echo ${a[0]}; start"), "bash"},
		"a script with an error":               {script("bash", "if"), ""},
		"a name that is not taken":             {script("sh", "tpyo"), ""},
		"an interpreter of a script in volume": {[]string{"/data/run.py"}, "python3"},
	} {
		for what, does := range map[string]shell.Absent{"runs": shell.Runs, "succeeds": shell.Succeeds} {
			t.Run(name+" "+what, func(t *testing.T) {
				c := newBox(t)
				require.NoError(t, c.node.WriteFile("/disk/run.py", []byte("#!/usr/bin/env python3\n"), 0o755))
				var taken []string
				config := c.config(tt.argv...)
				config.Absent = func(name string) shell.Absent {
					if name == "tpyo" {
						return shell.NotFound
					}
					return does
				}
				p := shell.New(config)
				t.Cleanup(p.Stop)
				wait, ended := p.Run(c.host)
				for _, r := range p.Reports() {
					if r.Taken != "" {
						taken = append(taken, r.Taken)
					}
				}
				if tt.taken == "" {
					require.Empty(t, taken, p.Log())
					return
				}
				require.Equal(t, []string{tt.taken}, taken, p.Log())
				assert.NotContains(t, p.Log(), "not found")
				if does == shell.Succeeds {
					require.True(t, ended)
					require.Zero(t, p.ExitCode(), p.Log())
					return
				}
				require.False(t, ended)
				require.Greater(t, wait, 1000*time.Hour)
				assert.NotContains(t, p.Log(), "next")
			})
		}
	}
}

// A probe's command says nothing without the program, wherever it calls it.
func TestAProgramThatIsNotThereExcusesTheWholeCommand(t *testing.T) {
	for _, script := range []string{"start", "start || exit 1", "test $(start) = 1", "echo a | start | cat", "if ! start; then exit 1; fi", "(start); exit 3",
		"sh -c start; exit 1"} {
		c := newBox(t)
		config := c.config("sh", "-c", script)
		config.Absent = func(string) shell.Absent { return shell.Excuses }
		p := shell.New(config)
		t.Cleanup(p.Stop)
		_, ended := p.Run(c.host)
		require.True(t, p.Excused(), script)
		require.False(t, ended, script)
		require.Equal(t, "start", p.Reports()[0].Taken)
	}
	c := newBox(t)
	config := c.config("sh", "-c", "true; /data/none; exit 4")
	config.Absent = func(string) shell.Absent { return shell.Excuses }
	p := shell.New(config)
	t.Cleanup(p.Stop)
	_, ended := p.Run(c.host)
	require.True(t, ended)
	require.False(t, p.Excused())
	require.EqualValues(t, 4, p.ExitCode())
}

// In the middle of a script a program is not taken for one of the image. Its message says who lacks it, unless nothing is taken.
func TestAProgramOfBusyboxIsLackedByTheSimulation(t *testing.T) {
	for does, want := range map[shell.Absent]string{
		shell.Runs:     "sh: mkfifo: not found; busybox has it, and this simulation does not\nsh: xyz: not found\n127\n",
		shell.NotFound: "sh: mkfifo: not found\nsh: xyz: not found\n127\n",
	} {
		c := newBox(t)
		config := c.config("sh", "-c", "mkfifo /data/f; xyz; echo $?")
		config.Absent = func(string) shell.Absent { return does }
		p := shell.New(config)
		t.Cleanup(p.Stop)
		p.Run(c.host)
		require.Equal(t, want, p.Log())
	}
}
