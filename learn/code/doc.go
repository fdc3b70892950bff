// Package exercises has the code of the exercises in Go of storagesim learn, a folder each: start holds the files that a learner
// gets, answer the official answer, wrong a plausible wrong one. The command judge plays one of them with faults. It is a module
// of its own, so that a learner's file can take the place of that of start.
package exercises
