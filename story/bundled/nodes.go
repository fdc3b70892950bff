package bundled

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// CheckNodes returns an error for what cannot be the names of a cluster's nodes. A number alone is refused, too: a user who writes 3 wants three
// nodes, and would get one with this name.
func CheckNodes(flag string, names []string, mayHaveNone bool) error {
	if len(names) == 0 && !mayHaveNone {
		return errors.New(flag + ": name at least one node, such as node-1")
	}
	if n, err := strconv.Atoi(strings.Join(names, ",")); err == nil {
		return fmt.Errorf("%s: %d would be the name of one node; name each, such as node-1,node-2", flag, n)
	}
	for i, name := range names {
		if msgs := validation.NameIsDNSSubdomain(name, false); len(msgs) > 0 {
			return fmt.Errorf("%s: %q is not a node name: %s", flag, name, strings.Join(msgs, "; "))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("%s: %q is given twice", flag, name)
		}
	}
	return nil
}
