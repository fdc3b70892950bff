// Package explain says in words why a pod, a claim or a volume is as it is. It joins what
// each controller explains of its part with what the API, the trace and the disks show.
//
// It looks and changes nothing. Controllers do not import it.
package explain
