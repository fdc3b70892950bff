// Package expand holds the small controller that notices claims that have grown. It
// expands nothing itself: the plugins that could were compiled into Kubernetes and are
// gone. It says, in the event ExternalExpanding, that another program must: a CSI driver's
// resizer.
//
// Upstream: pkg/controller/volume/expand, v1.37.
//
// # Deviations from upstream
//
//   - A claim that is bound is looked at if it asks for more than it has. Upstream looks at
//     each, in case its volume bears the pre-resize annotation.
package expand
