// Package remote runs controllers of this project against another API server than its
// own: a real kube-apiserver, or one that package serve offers.
//
//	actors, err := storagesim.ControlPlane(storagesim.Config{Only: []string{storagesim.PVController}})
//	...
//	err = remote.Run(ctx, remote.Config{REST: cfg, Actors: actors}) // cfg is client-go's
//
// bundled.Actors are provisioners for it, and csi.Driver.ControlPlane the sidecars of a CSI
// driver.
//
// # A second driver
//
// A controller never knows who drives it: it has a control.Env and nothing else. Package
// engine is one driver, with virtual time and an API server of its own. This is the other
// one. Here time is the machine's, caches are filled by client-go's reflectors, queues are
// client-go's, events go through client-go's broadcasters, and Env.Choose throws dice, as
// upstream's maps do.
//
// The contract of Env holds here too: of one actor, at most one piece of code runs at a time,
// and another gets its turn only inside calls on Env or on the client. Each actor has a lock
// for that. A goroutine holds it while it runs the actor's code, and releases it while it
// waits for time, for a key or for an answer of the API server.
//
// # What ends it
//
// Run returns when its context ends, when the lease is lost, or when code of an actor panics.
// All of the actors' code has returned by then. Another Run, here or on another
// machine, takes the lease over at once, because it is released on the way out.
//
// # Deviations from upstream
//
//   - One process with one lease for all controllers, where a cluster has kube-scheduler and
//     kube-controller-manager with one each.
//   - A request that the API server asks to be tried again later (429) is, in its actor's
//     turn: the actor's other work waits, too.
package remote
