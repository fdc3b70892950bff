package story

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/tables"
	"github.com/storagesim/storagesim/story/bundled"
	"github.com/storagesim/storagesim/trace"
)

func timeCommands() []*command {
	return []*command{
		{
			name: "cluster", run: cluster,
			usage: "cluster [nodes=NAME,NAME...] [seed=N] [provisioners=NAME,NAME...] [csi=NAME[,topology=KEY,attach=false,limit=N]] [stand-ins=yes] " +
				"[disk=NODE:PATH,NODE:PATH...] [disk-size=SIZE] [entrypoint=IMAGE=SCRIPT]... " +
				"[only=ACTOR,ACTOR...] [phase=TIME] [choices=N:M,N:M...] [settle=round] [programs=strict]",
			help: "make the cluster; it must be the first command. Default: nodes node-1 and node-2, everything in order, with OpenEBS\n" +
				"nodes=      the nodes, none if empty\n" +
				"seed=       explore another order of events\n" +
				"provisioners=  " + strings.Join(bundled.Names(), ", ") + ", or empty for none\n" +
				"csi=        run the reference CSI driver under this name; each volume belongs to a node with topology=\n" +
				"stand-ins=  yes: run a stand-in for each provisioner or driver that applied objects name and that nothing serves\n" +
				"disk=       directories that nodes have from the start; below /dev, block devices\n" +
				"disk-size=  of each machine's disk in memory, such as 20Gi, which a node tells as its ephemeral-storage; default 256Mi\n" +
				"entrypoint=  what containers of an image run that name no command, such as \"entrypoint=example.com/fill=echo filled > /data/x\"; may be repeated\n" +
				"only=       run these actors of the control plane only\n" +
				"phase=      how long ago periodic work had its last round\n" +
				"choices=    what happens next where it is not what a reader expects, as storagesim explore --script writes it\n" +
				"programs=   strict: a program that an image may have and the simulation does not is not found; without it the container is taken to run it\n" +
				"settle=     round: settle waits for periodic work while something is unfinished, as it does with seed or choices",
		},
		{
			name: "settle", usage: "settle [quiet | ACTOR... TOPIC... TYPE/NAME...]", run: func(c *call) error {
				if err := c.advance(c.args, c.cluster.Settle); err != nil {
					return err
				}
				c.pending()
				return nil
			},
			help: "run until the cluster is at rest, and print what happened\n" +
				"Words select the actors, objects (pvc/data) and topics to print: " + strings.Join(topics, ", ") + ". quiet prints nothing.",
		},
		{
			name: "step", usage: "step [N] [quiet | ACTOR... TOPIC... TYPE/NAME...]", run: step,
			help: "take one step, or N, and print what happened",
		},
		{
			name: "run-for", usage: "run-for TIME [quiet | ACTOR... TOPIC... TYPE/NAME...]", run: runFor,
			help: "let virtual time pass, for example 6m, and print what happened",
		},
		waitCommand(),
	}
}

func cluster(c *call) error {
	if c.cluster != nil {
		return c.misuse("there is a cluster already; this command comes first")
	}
	entrypoints := c.repeated("entrypoint")
	set, err := c.settings("nodes", "seed", "provisioners", "csi", "stand-ins", "disk", "disk-size", "only", "phase", "choices", "settle", "programs")
	if err != nil {
		return err
	}
	if err := c.want(0, 0); err != nil {
		return err
	}
	cfg := storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), TakePrograms: true}
	if cfg.Entrypoints, err = bundled.ParseEntrypoints("entrypoint", entrypoints); err != nil {
		return misuse{err}
	}
	if size, ok := set["disk-size"]; ok {
		if cfg.DiskSize, err = bundled.ParseDiskSize("disk-size", size); err != nil {
			return misuse{err}
		}
	}
	if names, ok := set["nodes"]; ok {
		if err := bundled.CheckNodes("nodes", list(names), true); err != nil {
			return misuse{err}
		}
		cfg.Nodes = storagesim.Nodes(list(names)...)
		cfg.NoNodes = len(cfg.Nodes) == 0
	}
	if seed, ok := set["seed"]; ok {
		if cfg.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
			return c.misuse("seed: %q is not a whole number from 0 to 18446744073709551615", seed)
		}
	}
	if only, ok := set["only"]; ok {
		cfg.Only = list(only)
	}
	if phase, ok := set["phase"]; ok {
		if cfg.ResyncPhase, err = c.duration("phase", phase); err != nil {
			return err
		}
	}
	if settle, ok := set["settle"]; ok {
		if settle != "round" {
			return c.misuse("settle: %q is not known; expected round", settle)
		}
		cfg.Rounds = true
	}
	if programs, ok := set["programs"]; ok {
		if programs != "strict" {
			return c.misuse("programs: %q is not known; expected strict", programs)
		}
		cfg.TakePrograms = false
	}
	if choices, ok := set["choices"]; ok {
		if cfg.Policy, err = c.choices(choices); err != nil {
			return err
		}
	}
	provisioners := []string{"openebs"}
	if names, ok := set["provisioners"]; ok {
		provisioners = list(names)
	}
	for _, name := range provisioners {
		if !slices.Contains(bundled.Names(), name) {
			return c.misuse("provisioners: there is no %q%s", name, prose.OneOf(name, bundled.Names()))
		}
	}
	var drivers []bundled.StandIn
	if text, ok := set["csi"]; ok {
		if drivers, err = bundled.ParseStandIns("csi", []string{text}); err != nil {
			return misuse{err}
		}
	}
	if text, ok := set["stand-ins"]; ok && text != "yes" {
		return c.misuse("stand-ins: %q; expected yes", text)
	}
	c.standIns = set["stand-ins"] == "yes"
	var disks []bundled.Disk
	if text, ok := set["disk"]; ok {
		var nodes []string
		for _, node := range cfg.Nodes {
			nodes = append(nodes, node.Name)
		}
		if disks, err = bundled.ParseDisks("disk", list(text), nodes); err != nil {
			return misuse{err}
		}
	}
	if err := c.start(cfg, provisioners, disks, drivers...); err != nil {
		return err
	}
	c.say("actors: %s", strings.Join(c.listedActors(), ", "))
	return nil
}

// mostChoices is the highest position of a choice.
const mostChoices = 10_000_000

// choices returns the order in which the N-th choice, from 0, is not the first alternative but the
// M-th after it.
func (c *call) choices(text string) (engine.Policy, error) {
	var all []uint32
	for _, choice := range list(text) {
		n, m, _ := strings.Cut(choice, ":")
		at, err := strconv.Atoi(n)
		take, err2 := strconv.ParseUint(m, 10, 32)
		if err != nil || err2 != nil || at < 0 || at > mostChoices {
			return nil, c.misuse("choices: %q is not POSITION:ALTERNATIVE, such as 12:1", choice)
		}
		all = append(all, make([]uint32, max(0, at+1-len(all)))...)
		all[at] = uint32(take)
	}
	return engine.Replay(all), nil
}

// list splits at commas; nothing is no element.
func list(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, ",")
}

func step(c *call) error {
	n, words := 1, c.args
	if len(words) > 0 && beginsWithDigit(words[0]) { // the name of an actor or of a type begins with a letter
		first, err := strconv.Atoi(words[0])
		if err != nil || first == 0 {
			return c.misuse("%q is not a number of steps such as 3", words[0])
		}
		n, words = first, words[1:]
	}
	return c.advance(words, func() error {
		for range n {
			more, err := c.cluster.Engine().Step()
			if err != nil || !more {
				return err
			}
		}
		return nil
	})
}

func runFor(c *call) error {
	if err := c.want(1, -1); err != nil {
		return err
	}
	d, err := c.duration("TIME", c.args[0])
	if err != nil {
		return err
	}
	if most := c.session.options.MostTime; most > 0 && d > most {
		return c.misuse("TIME: %q is longer than the %s that one command may let pass here", c.args[0], most)
	}
	return c.advance(c.args[1:], func() error { return c.cluster.RunFor(d) })
}

// topics lists the topics of the trace's records.
var topics = []string{"write", "event", "decision", "mount", "command", "fault", "retry", "grpc", "gap", "deviates", "asset", "call"}

// filter reads the words that keep actors, topics and what is said of objects. quiet keeps nothing.
func (c *call) filter(words []string) (keep func(trace.Entry) bool, err error) {
	if slices.Equal(words, []string{"quiet"}) {
		return func(trace.Entry) bool { return false }, nil
	}
	actors := append(c.cluster.Engine().Actors(), storagesim.User, storagesim.Setup)
	var ofActors, ofTopics []string
	var about []trace.Ref
	for _, word := range words {
		switch {
		case slices.Contains(topics, word):
			ofTopics = append(ofTopics, word)
		case slices.Contains(actors, word):
			ofActors = append(ofActors, word)
		default:
			refs, err := tables.ParseRefs(c.kinds(), "", word)
			if err != nil {
				return nil, c.misuse("%q%s is not an actor, a topic or an object such as pvc/data; actors: %s; topics: %s",
					word, prose.DidYouMean(word, slices.Concat(actors, topics)), strings.Join(actors, ", "), strings.Join(topics, ", "))
			}
			about = append(about, trace.Ref{Kind: refs[0].Resource.Kind, Namespace: refs[0].Namespace, Name: refs[0].Name})
		}
	}
	isAbout := trace.About(about...)
	return func(e trace.Entry) bool {
		return (about == nil || isAbout(e)) && (ofActors == nil || slices.Contains(ofActors, e.Actor)) &&
			(ofTopics == nil && !trace.IsDetail(e.Record.Topic()) || slices.Contains(ofTopics, e.Record.Topic()))
	}, nil
}

// advance lets something happen and tells what is new in the trace.
func (c *call) advance(words []string, f func() error) error {
	keep, err := c.filter(words)
	if err != nil {
		return err
	}
	err = f()
	c.tell(c.news(), keep)
	c.told = c.trace().Len()
	return err
}

// pending names the actors that settle has not waited for.
func (c *call) pending() {
	down := c.cluster.Engine().Down()
	for _, actor := range slices.Sorted(maps.Keys(down)) {
		if down[actor].IsZero() {
			c.say("%s is stopped", actor)
			continue
		}
		c.say("%s is still down; it starts again at %s: run-for lets that time pass", actor, trace.Offset(down[actor].Sub(c.zero)))
	}
}

// news returns what is to be told since the last time, without the definitions that came with the first snapshot: they are no act of a user, and those of all
// other kinds are there from the beginning. trace tells of them.
func (c *call) news() []trace.Entry {
	const kind = "CustomResourceDefinition"
	var installed map[string]bool // read if there is anything about definitions
	return slices.DeleteFunc(slices.Clone(c.trace().Since(c.told)), func(e trace.Entry) bool {
		w, ok := e.Record.(trace.Write)
		if !ok || w.Kind != kind || e.Actor == storagesim.User {
			return false
		}
		if installed == nil {
			installed = map[string]bool{}
			for _, e := range c.trace().Entries() {
				if w, ok := e.Record.(trace.Write); ok && w.Kind == kind && e.Actor == storagesim.Setup {
					installed[w.Name] = true
				}
			}
		}
		return installed[w.Name]
	})
}

// tell prints entries of the trace.
func (c *call) tell(entries []trace.Entry, keep func(trace.Entry) bool) {
	both := func(e trace.Entry) bool { return keep(e) && (c.options.Keep == nil || c.options.Keep(e)) }
	c.WriteString(trace.Tell(entries, trace.Telling{Start: c.zero, Details: true, Keep: both, Width: c.options.Width, Shorten: c.cluster.Trace().ShortIDs}))
}

// listedActors returns the cluster's actors, but those that have nothing to do in a cluster
// without CSI volumes and without objects of their kinds, and while no namespace is deleted.
func (c *call) listedActors() []string {
	idle := []string{
		storagesim.AttachDetach, storagesim.NamespaceDeletion, storagesim.VACProtection, storagesim.ResourceQuotas, storagesim.Disruption,
		storagesim.Deployments, storagesim.ReplicaSets, storagesim.DaemonSets, storagesim.Jobs,
		storagesim.TTLAfterFinished, storagesim.CronJobs, storagesim.ReplicationControllers,
	}
	return slices.DeleteFunc(c.cluster.Engine().Actors(), func(actor string) bool { return slices.Contains(idle, actor) })
}
