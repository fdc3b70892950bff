package story

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagesim/storagesim/internal/manifest"
)

// Complete returns the words that may stand in place of the last word of a line, which may be empty: the names of commands, then the flags of the command,
// actors, nodes, topics and objects. They are in order.
func (s *Shell) Complete(line string) []string {
	begin := strings.LastIndexAny(line, " \t") + 1
	last, words := line[begin:], strings.Fields(line[:begin])
	if len(words) > 0 && words[0] == must {
		words = words[1:]
	}
	if len(words) == 0 {
		return beginningWith(last, Commands())
	}
	cmd, err := find(words[0])
	if err != nil {
		return nil
	}
	var all []string
	newFlags(cmd).VisitAll(func(f *pflag.Flag) { all = append(all, "--"+f.Name) })
	if cmd.name == "help" {
		all = append(all, Commands()...)
	}
	if c := s.session.cluster; c != nil {
		all = slices.Concat(all, c.Engine().Actors(), c.Lab().Machines(), topics, s.objects(words[1:], last))
	}
	return beginningWith(last, all)
}

// objects returns the objects, as TYPE/NAME and, behind a word that is a type, as NAME, and the types.
func (s *Shell) objects(words []string, last string) []string {
	names := map[string]bool{}
	kind := ""
	if len(words) > 0 && !strings.HasPrefix(words[len(words)-1], "-") {
		if r, err := manifest.FindResource(s.session.kinds(), words[len(words)-1]); err == nil {
			kind = r.Kind
		}
	}
	for _, obj := range s.session.cluster.Engine().Server().Objects(true) {
		m, err := meta.Accessor(obj)
		if err != nil {
			continue
		}
		own := obj.GetObjectKind().GroupVersionKind().Kind
		if own == kind {
			names[m.GetName()] = true
		}
		for _, short := range typeWords {
			if r, err := manifest.FindResource(s.session.kinds(), short); err == nil && r.Kind == own {
				names[short+"/"+m.GetName()] = true
				names[short] = true
			}
		}
	}
	if strings.HasPrefix(last, "-") {
		return nil
	}
	return slices.Collect(maps.Keys(names))
}

// typeWords lists the types of objects that are completed, as users write them.
var typeWords = []string{"pod", "pvc", "pv", "node", "sc", "volumeattachment", "statefulset", "deployment", "configmap", "secret", "namespace"}

func beginningWith(begin string, words []string) []string {
	found := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, begin) })
	slices.Sort(found)
	return slices.Compact(found)
}
