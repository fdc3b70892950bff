// Package tables prints API objects as kubectl does: tables as `kubectl get`
// prints them, texts as `kubectl describe` does, events, YAML and JSON.
//
// It reads nothing but a View, the objects there are and the time it is, so
// ages come from the cluster's clock and printing changes nothing.
//
//	view := tables.View{Objects: server.Objects(true), Now: cluster.Now()}
//	err := view.Get(os.Stdout, tables.Options{}, "pv,pvc")
//
// The columns are the same as in Kubernetes v1.36, the padding is text/tabwriter's with
// kubectl's settings. A kind without columns of its own has NAME and AGE.
//
// # Where it differs from kubectl
//
//   - "No resources found in default namespace." goes to the same writer as
//     everything else: a transcript has one stream.
//   - With View.Width, tables that are too wide leave columns out, and say what.
//   - get accepts the short name va for volume attachments.
//   - describe leaves out what nothing in a storage plane sets or reads:
//     probes, allocated resources and leases of nodes, projected sources in
//     detail. A kind without a description of its own is shown field by field.
package tables
