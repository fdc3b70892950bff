// Package expand holds the small controller that notices claims that have grown. It
// expands nothing itself: the plugins that could were compiled into Kubernetes and are
// gone. It says, in the event ExternalExpanding, that another program must: a CSI driver's
// resizer.
//
// Upstream: pkg/controller/volume/expand, v1.36.
//
// # Deviations from upstream
//
//   - Only a claim that asks for more than it has is looked at. Upstream also looks at
//     one whose volume bears the pre-resize annotation, which its own plugins left there.
//   - CSI migration's annotation storage-resizer is not written.
package expand
