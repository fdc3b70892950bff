package story

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/storagesim/storagesim/internal/prose"
)

// command is one that scripts can use.
type command struct {
	name  string
	usage string
	help  string
	input bool // takes lines of input
	reads bool // changes nothing
	flags func(*pflag.FlagSet)
	run   func(*call) error
}

// call is a command being run.
type call struct {
	*session
	cmd   *command
	line  int
	flags *pflag.FlagSet
	args  []string
	input []string
	// warned has the warnings that were printed.
	warned []string
	out
}

// commands returns all commands, in the order that help lists them.
func commands() []*command {
	return slices.Concat(timeCommands(), objectCommands(), nodeCommands(), showCommands(), fileCommands(), execCommands(), faultCommands(),
		expectCommands(), []*command{{
			name: "help", usage: "help [COMMAND]", help: "list the commands, or explain one", run: help, reads: true,
		}})
}

// find finds a command by name, or says which there are; more are the names of the program's own commands.
func find(name string, more ...string) (*command, error) {
	var names []string
	for _, cmd := range commands() {
		if cmd.name == name {
			return cmd, nil
		}
		names = append(names, cmd.name)
	}
	names = append(names, more...)
	if instead, ok := habits[name]; ok {
		return nil, fmt.Errorf("unknown command %q: %s", name, instead)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsSpace(r) }) {
		return nil, fmt.Errorf("unknown command %q: it has a full-width space; plain ones separate words", name)
	}
	return nil, fmt.Errorf("unknown command %q%s", name, prose.OneOf(name, names))
}

// habits are words that users of a shell type, and what to write instead.
var habits = map[string]string{
	"kubectl": "commands are written without it, for example: get pvc",
	"sleep":   "run-for TIME lets virtual time pass",
	"cat":     "read prints a file; exec POD -- cat FILE runs cat in a container",
	"scale":   `patch does it: patch deployment/NAME -p '{"spec":{"replicas":3}}'`,
	"set": "patch does it; for an image: " +
		`patch deployment/NAME -p '{"spec":{"template":{"spec":{"containers":[{"name":"CONTAINER","image":"IMAGE"}]}}}}'`,
	"rollout":   "settle runs until the cluster is at rest, and get deployments shows how far they are; apply of an earlier manifest goes back to it",
	"edit":      "patch changes fields of an object, apply makes it what a manifest says",
	"replace":   "apply makes an object what a manifest says; delete and create make another",
	"run":       "create and apply make a pod from its manifest; run-for TIME lets virtual time pass",
	"expose":    "apply makes a Service from its manifest",
	"autoscale": `the simulation has no autoscaler; patch changes a number of pods: patch deployment/NAME -p '{"spec":{"replicas":3}}'`,
	"top":       "the simulation does not measure what pods use of processors and memory; describe node shows what they request",
	"cp":        "read prints a file of a container, and write writes one",
	"debug":     "exec POD -- COMMAND runs a program in a container, explain says why an object is as it is",
	"attach":    "logs prints what a container prints, exec POD -- COMMAND runs a program in it",
	"watch":     "get TYPE -w prints the rows of objects as they change",

	"diff":          "apply says whether it changes an object, and trace user write tells which fields",
	"port-forward":  "containers have no network; exec POD -- COMMAND runs a program in one",
	"proxy":         "containers have no network, and a story is no server; storagesim serve offers a cluster to other programs",
	"api-resources": "get with a TYPE that does not exist lists the short names of those that do",
	"auth":          "there is no RBAC: a user may do everything",
	"config":        "a story has one cluster; the first command, cluster, says how it is made",
	"cluster-info":  "a story has one cluster; get nodes lists its machines",
	"version":       "storagesim version prints which Kubernetes is simulated",
}

// Commands returns the names of the commands of scripts.
func Commands() []string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return names
}

// Reading returns the names of the commands that change nothing.
func Reading() []string {
	var names []string
	for _, cmd := range commands() {
		if cmd.reads {
			names = append(names, cmd.name)
		}
	}
	return names
}

func help(c *call) error {
	if len(c.args) > 1 {
		return c.misuse("expected at most one command")
	}
	if len(c.args) == 1 {
		cmd, err := find(c.args[0], c.options.MoreCommands...)
		if err != nil {
			return misuse{err}
		}
		c.say("%s\n    %s", cmd.usage, strings.ReplaceAll(cmd.help, "\n", "\n    "))
		return nil
	}
	for _, cmd := range commands() {
		first, _, _ := strings.Cut(cmd.help, "\n")
		c.say("%-12s %s", cmd.name, first)
	}
	return nil
}

func newFlags(cmd *command) *pflag.FlagSet {
	flags := pflag.NewFlagSet(cmd.name, pflag.ContinueOnError)
	flags.Usage = func() {}
	if cmd.flags != nil {
		cmd.flags(flags)
	}
	return flags
}

// misuse returns the error of a command that the script uses wrongly.
func (c *call) misuse(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// want checks the number of arguments; most < 0 means any number.
func (c *call) want(least, most int) error {
	n := len(c.args)
	if n >= least && (most < 0 || n <= most) {
		return nil
	}
	expected := fmt.Sprintf("%d to %d", least, most)
	switch {
	case most < 0:
		expected = fmt.Sprintf("at least %d", least)
	case most == 0:
		expected = "none"
	case least == most:
		expected = strconv.Itoa(least)
	}
	if c.cmd.input {
		expected += "; the YAML follows on the next lines"
	}
	return c.misuse("wrong number of arguments: %d; expected %s", n, expected)
}

// settings takes the key=value arguments out of args. Each key is one of those
// given and occurs at most once.
func (c *call) settings(keys ...string) (map[string]string, error) {
	values := map[string]string{}
	var rest []string
	for _, arg := range c.args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			rest = append(rest, arg)
			continue
		}
		if !slices.Contains(keys, key) {
			return nil, c.misuse("unknown setting %q%s", key, prose.OneOf(key, keys))
		}
		if _, twice := values[key]; twice {
			return nil, c.misuse("%s is set twice", key)
		}
		values[key] = value
	}
	c.args = rest
	return values, nil
}

// repeated takes the key=value arguments of a key that may occur more than once out of args, and returns their values.
func (c *call) repeated(key string) (values []string) {
	var rest []string
	for _, arg := range c.args {
		if value, ok := strings.CutPrefix(arg, key+"="); ok {
			values = append(values, value)
		} else {
			rest = append(rest, arg)
		}
	}
	c.args = rest
	return values
}

// number reads a whole number of at least 0.
func (c *call) number(what, text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, c.misuse("%s: %q is not a whole number such as 3, at most %d", what, text, math.MaxInt)
	case n < 0:
		return 0, c.misuse("%s: %q is negative; expected a whole number of at least 0", what, text)
	}
	return n, nil
}

// duration reads a time such as 6m.
func (c *call) duration(what, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, c.misuse("%s: %q is not %s", what, text, aTime)
	case d < 0:
		return 0, c.misuse("%s: %q is negative; expected a time of at least 0s", what, text)
	}
	return d, nil
}

// aTime describes how a time is written.
const aTime = "a time such as 90s, 6m or 1h30m, at most 2562047h"

func beginsWithDigit(text string) bool { return text != "" && text[0] >= '0' && text[0] <= '9' }

// flagError says what a flag should have been instead of how reading it failed.
func flagError(err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if text := unknown.GetSpecifiedShortnames(); beginsWithDigit(text) {
			return fmt.Errorf("%q is negative; expected a time of at least 0s or a number of at least 0", "-"+text)
		}
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		switch wrong.GetFlag().Value.Type() {
		case "duration":
			return fmt.Errorf("--%s: %q is not %s", wrong.GetFlag().Name, wrong.GetValue(), aTime)
		case "int", "int64":
			return fmt.Errorf("--%s: %q is not a whole number such as 30", wrong.GetFlag().Name, wrong.GetValue())
		}
	}
	return err
}

// flag returns the value of a text flag.
func (c *call) flag(name string) string {
	value, err := c.flags.GetString(name)
	if err != nil {
		panic(err) // the command did not declare it
	}
	return value
}

func (c *call) on(name string) bool {
	value, err := c.flags.GetBool(name)
	if err != nil {
		panic(err) // the command did not declare it
	}
	return value
}

var errNoInput = errors.New("no input is given; expected it between the command and ----")
