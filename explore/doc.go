// Package explore plays a scenario many times, each time with other faults or in another
// order, and finds what breaks it: the first run that fails, made as small as can be, its
// story, and a line that repeats it.
//
// A scenario builds on a cluster, does what users do, and may say what must hold:
//
//	func TestNothingBreaksMyProvisioner(t *testing.T) {
//		explore.Test(t, explore.Config{Runs: 2000}, func(c *explore.Cluster) {
//			c.AddProvisioner("example.com/disk", mine())
//			c.Apply(manifests)
//			c.Settle()
//			c.Delete("pod/web", "pvc/data")
//			c.Settle()
//		})
//	}
//
// # Plans
//
// What differs between two runs is a Plan: choices away from the plain order, faults at calls
// that an actor, a verb, a resource and a number address, caches that get no changes for a while, acts of the user that are left
// out. Faults and late caches together are called trouble: all of it ends before the rules are checked at the end.
// Strategies make plans, and by default they take turns. What the plain run does, in order and without trouble, tells them
// which calls there are. Points that the author's code marks with package mayfail are places of faults like calls. Plans do not
// depend on how many runs happen at once, nor do results.
//
// # Rules
//
// BuiltInRules are checked in every run, with each write and at the end, when all faults are
// over and the cluster has come to rest. A user's own are in Config.Rules.
//
// # A smaller failure
//
// A run that fails is played again with less: without one fault or the other, then with fewer
// choices away from the plain order, then without some of what the user did, object by object,
// as long as the same rule is broken (delta debugging). Of what the user did, only Cluster.Apply
// and Cluster.Delete can be left out. A scenario should compare with what is in the cluster, such as the number of its
// PersistentVolumes, and not with what it has asked for: without a deletion a fixed number is wrong, and the smaller run tells nothing.
//
// # What a scenario must keep to
//
// It must not depend on anything but its cluster: not on the wall clock (that a program writes the machine's
// time into a condition is no difference), the order of a map
// or goroutines of its own; Run finds out, since it plays the plain run twice. Runs happen
// beside each other, so a scenario must not change what it shares with the test. It drives
// the cluster (Settle, RunFor) and does not wait in real time.
package explore
