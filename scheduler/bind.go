package scheduler

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// runBindPlugins binds the pod.
// Upstream: schedule_one.go bind and runtime/framework.go RunBindPlugins, v1.36.
func (f framework) runBindPlugins(ctx context.Context, c *cycle) *status {
	plugins := of[bindPlugin](f)
	if len(plugins) == 0 {
		return asStatus(errors.New("no plugin binds pods"))
	}
	p := plugins[0] // the first one binds
	st := p.Bind(ctx, c, c.node).from(p.Name(), fmt.Sprintf("Bind plugin %q", p.Name()))
	if st.is(failed) {
		st.err = fmt.Errorf("binding rejected: %w", st.err)
	}
	return st
}

// defaultBinder writes pods/binding.
// Upstream: plugins/defaultbinder, v1.36.
type defaultBinder struct{ env control.Env }

func (defaultBinder) Name() string { return "DefaultBinder" }

// EventsToRegister returns nil: the plugin refuses no pod.
func (defaultBinder) EventsToRegister() []registration { return nil }

func (b defaultBinder) Bind(ctx context.Context, c *cycle, node string) *status {
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.pod.Namespace, Name: c.pod.Name, UID: c.pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}
	return asStatus(b.env.Client().CoreV1().Pods(c.pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{}))
}
