package story

import (
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/internal/prose"
)

func failCSICommand() *command {
	return &command{
		name: "fail-csi",
		usage: "fail-csi DRIVER METHOD [VOLUME] [caller=ACTOR] [when=before|after] [error=CODE | hang=yes | lost=yes | delay=TIME | crash=yes [restart=TIME]] " +
			"[times=N] [skip=N]",
		help: "refuse gRPC calls to a CSI driver, let them hang, lose their answers, make them slow, or crash the driver\n" +
			"when=before (the default): the driver does not get the call; after: it has carried the call out.\n" +
			"error= is a code: " + strings.Join(slices.Sorted(maps.Keys(grpcCodes())), ", ") + "; default Internal.\n" +
			"hang=yes: the caller waits for its deadline. lost=yes: the call is carried out, and then the connection breaks.\n" +
			"crash=yes: the driver's process ends and starts again, at once or after restart=, with what it has on its disk;\n" +
			"crash csi-driver/NAME crashes it now.\n" +
			"VOLUME is a volume_id or, for CreateVolume, the volume's name. times= is the number of calls that fail, default 1; 0 is all.\n" +
			"DRIVER and METHOD may be any. Example: fail-csi csi.storagesim.io NodeStageVolume error=Unavailable times=2",
		run: failCSI,
	}
}

// grpcCodes returns the codes that fail-csi can give, by name.
func grpcCodes() map[string]codes.Code {
	all := map[string]codes.Code{}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		all[code.String()] = code
	}
	return all
}

func failCSI(c *call) error {
	set, err := c.settings("caller", "when", "error", "hang", "lost", "delay", "crash", "restart", "times", "skip")
	if err != nil {
		return err
	}
	if err := c.want(2, 3); err != nil {
		return err
	}
	f := socket.Fault{Driver: unlessAny(c.args[0]), Method: unlessAny(c.args[1]), Caller: set["caller"]}
	if len(c.args) == 3 {
		if word := c.args[2]; slices.Contains([]string{"hang", "lost", "crash"}, word) {
			return c.misuse("%q is not a volume; expected %s=yes", word, word)
		}
		f.Volume = c.args[2]
	}
	if f.After, f.Times, f.Skip, err = c.which(set); err != nil {
		return err
	}
	if err := c.csiEffect(&f, set); err != nil {
		return err
	}
	if err := c.cluster.Inject(f); err != nil {
		return misuse{err}
	}
	c.say("%s of %s will fail", c.args[1], c.args[0])
	return nil
}

// which reads when=, times= and skip=: which calls or points fail, and whether before or after they were carried out.
func (c *call) which(set map[string]string) (after bool, times, skip int, err error) {
	switch set["when"] {
	case "", "before":
	case "after":
		after = true
	default:
		return false, 0, 0, c.misuse("when: %q; expected before or after", set["when"])
	}
	if times, err = c.times(set); err != nil {
		return false, 0, 0, err
	}
	if text, ok := set["skip"]; ok {
		skip, err = c.number("skip", text)
	}
	return after, times, skip, err
}

// times reads how often a fault strikes: once by default, 0 is always.
func (c *call) times(set map[string]string) (int, error) {
	text, ok := set["times"]
	if !ok {
		return 1, nil
	}
	times, err := c.number("times", text)
	if times == 0 {
		times = -1
	}
	return times, err
}

// csiEffect reads what happens to the calls.
func (c *call) csiEffect(f *socket.Fault, set map[string]string) (err error) {
	given := ""
	for _, effect := range []string{"error", "hang", "lost", "delay", "crash"} {
		value, ok := set[effect]
		switch {
		case !ok:
			continue
		case given != "":
			return c.misuse("expected only one of error=, hang=, lost=, delay= and crash=")
		case slices.Contains([]string{"hang", "lost", "crash"}, effect) && value != "yes":
			return c.misuse("%s: %q; expected yes", effect, value)
		}
		given = effect
	}
	if _, ok := set["restart"]; ok && given != "crash" {
		return c.misuse("restart= is how long the driver is away after crash=yes, which is not set")
	}
	switch given {
	case "hang":
		f.Hang = true
	case "lost":
		if set["when"] == "before" {
			return c.misuse("lost=yes: there is an answer to lose only after the call; expected when=after or nothing")
		}
		f.After = true
	case "delay":
		f.Delay, err = c.duration("delay", set["delay"])
	case "crash":
		f.Crash = true
		if restart, ok := set["restart"]; ok {
			f.Restart, err = c.duration("restart", restart)
		}
	default:
		return c.csiCode(f, set)
	}
	if given == "delay" && err == nil && f.Delay < time.Nanosecond {
		return c.misuse("delay: %q; expected a time above 0", set["delay"])
	}
	return err
}

// csiCode reads the code that calls are refused with.
func (c *call) csiCode(f *socket.Fault, set map[string]string) error {
	name, ok := set["error"]
	if !ok {
		name = "Internal"
	}
	if f.Code, ok = grpcCodes()[name]; !ok {
		return c.misuse("error: unknown code %q%s", name, prose.OneOf(name, slices.Sorted(maps.Keys(grpcCodes()))))
	}
	return nil
}
