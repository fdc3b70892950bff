package storagesim

import (
	"strings"

	"github.com/storagesim/storagesim/internal/tables"
)

// Get prints what `kubectl get ARGS` prints: Get("pvc"), Get("pv,pvc"),
// Get("pod", "web"), Get("pvc/data"). Namespaced objects are those of the
// namespace default unless named otherwise ("pod/kube-system/web").
func (c *Cluster) Get(args ...string) (string, error) {
	var b strings.Builder
	err := c.view().Get(&b, tables.Options{}, args...)
	return b.String(), err
}

// GetYAML prints what `kubectl get ARGS -o yaml` prints.
func (c *Cluster) GetYAML(args ...string) (string, error) {
	var b strings.Builder
	err := c.view().Get(&b, tables.Options{Output: "yaml"}, args...)
	return b.String(), err
}

func (c *Cluster) view() tables.View {
	return tables.View{Kinds: c.Server().Registry(), Objects: c.Server().Objects(), Now: c.Now()}
}
