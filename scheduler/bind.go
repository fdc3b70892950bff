package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// runBindPlugins binds the pod.
// Upstream: schedule_one.go bind and runtime/framework.go RunBindPlugins, v1.37.
func (f framework) runBindPlugins(ctx context.Context, c *cycle) *status {
	if len(f.bind) == 0 {
		return asStatus(errors.New("no plugin binds pods"))
	}
	p := f.bind[0] // the first one binds
	st := p.Bind(ctx, c, c.node).from(p.Name(), fmt.Sprintf("Bind plugin %q", p.Name()))
	if st.is(failed) {
		st.err = fmt.Errorf("binding rejected: %w", st.err)
	}
	return st
}

// defaultBinder writes pods/binding.
// Upstream: plugins/defaultbinder, v1.37.
type defaultBinder struct{ env control.Env }

func (defaultBinder) Name() string { return "DefaultBinder" }

// EventsToRegister returns nil: the plugin refuses no pod.
func (defaultBinder) EventsToRegister() []registration { return nil }

// Bind writes the binding, and again if the server is not well: four times in all.
// Upstream: scheduler/util/utils.go BindPod with client-go's DefaultBackoff, v1.37.
func (b defaultBinder) Bind(ctx context.Context, c *cycle, node string) *status {
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.pod.Namespace, Name: c.pod.Name, UID: c.pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: node},
	}
	for pause := 10 * time.Millisecond; ; pause *= 5 {
		err := b.env.Client().CoreV1().Pods(c.pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
		if !retriable(err) || pause > 250*time.Millisecond {
			return asStatus(err)
		}
		if err := b.env.Sleep(ctx, pause); err != nil {
			return asStatus(err)
		}
	}
}

// retriable reports whether the server may do better soon.
// Upstream: scheduler/util/utils.go Retriable, v1.37.
func retriable(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}
