// Package explore runs a scenario under many orders of events and finds the first in
// which it fails.
//
// A scenario builds on a cluster, does what users do, and says what must hold. Each run
// has a cluster of its own, on memory disks, whose seed chooses the order in which actors,
// watch events and retries follow one another. All processors are used; which failure is
// reported does not depend on how many there are: it is that of the smallest seed.
//
//	func TestTwoPodsRaceForOneVolume(t *testing.T) {
//		explore.Test(t, explore.Config{Runs: 2000}, func(c *explore.Cluster) {
//			c.Apply(manifests)
//			c.Settle()
//			c.RequireRunning("first", "second")
//			c.RequireNoLeaks()
//		})
//	}
//
// A failure has the seed, the story, and the choices made where there was one. The seed
// and the choices both repeat the run, to the byte, with the same version of this
// library.
//
// A scenario must not depend on anything but its cluster: not on the wall clock, the order
// of a map or goroutines of its own. Runs happen beside each other, so it must not change
// what it shares with the test.
package explore
