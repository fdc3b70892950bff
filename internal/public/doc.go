// Package public reads docs/public-manifests.txt, the list of public manifests and of the end that each has on a
// cluster, and compares the end of a run with it. The manifests themselves are no part of the project; the command replay
// runs them where copies of their repositories are at hand.
package public
