// Package gaps is the register of the fields that a cluster acts on and the simulation does not.
// Stories, the notes of the command run, explanations, the log of a test and the table "Not there"
// of README take their words from here.
//
//	register.go  the entries: to model a field, remove its entry and name a test in fields.txt
//	gaps.go      finds the entries that an object uses
//	table.go     the table of README
//
// Each field of the kinds for storage, of Pods and of workloads is in the register or in
// testdata/fields.txt, which names a test that fails if the field is ignored, or says why it does
// no harm to ignore it. A test compares both with the types of k8s.io/api.
package gaps
