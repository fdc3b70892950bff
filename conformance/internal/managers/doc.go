// Package managers compares the controllers and the scheduler with upstream's own kube-controller-manager and kube-scheduler, v1.37.2. Scenarios are played
// with both, on the same API server and kubelets. What upstream's programs did is kept in testdata, a file for each scenario, and
// the tests compare ours with it: the objects at the end of each step, and the events.
//
// Begin with Scenario in scenario.go. workloads.go and the files beside it have the scenarios, observer.go takes down what is there, recording.go compares.
// chance.go names what may differ from run to run, with its reason.
//
// conformance/interop/managers plays the scenarios with upstream's programs, and writes the files anew. It is a module of its own, since these programs take
// many minutes to build.
package managers
