package trace

import (
	"fmt"
	"strings"
)

// Gap says that an object asks for something that a cluster does and the simulation does not. It
// follows the write that asks for it.
type Gap struct {
	About Ref
	// Fields names the fields, with the names of list items. It is empty if it is the whole object.
	Fields []string
	// Cluster says what a cluster does, and Here what happens here, each as the rest of a sentence.
	Cluster, Here string
}

// Topic implements Record.
func (Gap) Topic() string { return "gap" }

func (g Gap) String() string {
	what := g.About.String()
	if len(g.Fields) > 0 {
		what = strings.Join(g.Fields, ", ") + " of " + what
	}
	return fmt.Sprintf("does not model %s: a cluster %s; here %s", what, g.Cluster, g.Here)
}
