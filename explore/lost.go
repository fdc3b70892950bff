package explore

import (
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explain/leaks"
)

// Data is lost if a claim is bound to a volume that its backend does not have, or a pod runs with a volume that is not where the driver
// said that it is. A user who deletes both takes the traces away: so each rest is looked at, and judged on a twin like other rests.

// loses reports whether something is lost at a rest, of a kind of which the plain run loses nothing there: an inventory may leave out
// what it does not know.
func (cfg Config) loses(rest restOf, plain []leaks.Loss) bool {
	return !cfg.excepts(NothingLost) && len(unlike(rest.lost, plain)) > 0
}

// unlike returns the losses of kinds that the plain run does not have.
func unlike(lost, plain []leaks.Loss) []leaks.Loss {
	return slices.DeleteFunc(slices.Clone(lost), func(l leaks.Loss) bool {
		return slices.ContainsFunc(plain, func(p leaks.Loss) bool { return p.Kind == l.Kind })
	})
}

// unheld returns the kinds of losses that the plain run is not blamed for, since an Inventory may list volumes only.
func unheld() []leaks.Loss { return []leaks.Loss{{Kind: leaks.Staging}, {Kind: leaks.Publication}} }

// lost returns an error if something is lost now that is not in the plain run.
func lost(c *storagesim.Cluster, plain []leaks.Loss) error {
	found := unlike(c.Lab().Lost(), plain)
	if len(found) == 0 {
		return nil
	}
	lines := make([]string, len(found))
	for i, l := range found {
		lines[i] = l.What
	}
	return about(found[0].Object, "%s", strings.Join(lines, "\n"))
}
