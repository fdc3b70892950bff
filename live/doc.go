// Package live runs a cluster's own actors beside code that has goroutines of its
// own: a third party's controller, unmodified, with client-go's informers, queues,
// backoff and leader election, on the cluster's clients.
//
//	cluster, err := storagesim.New(storagesim.Config{Start: time.Now()})
//	driver := live.Start(cluster.Engine())
//	go controller.Run(ctx, cluster.Client())
//	...                      // wait for what shall come about
//	err = driver.Stop()      // and the cluster is the caller's again
//
// # Programs as actors
//
// What a real cluster would run as a pod of its own, an operator or a provisioner, is best
// added as an actor, with Cluster.AddProgram. It gets a *rest.Config; its writes bear its
// name; Inject, Crash, Stop and RequireNoLeaks know it; it is started again when it ends.
//
//	err = cluster.AddProgram(storagesim.Program{Name: "my-operator", Run: run})
//	driver := live.Start(cluster.Engine())
//
// # Time
//
// Between Start and Stop the engine's virtual time goes as fast as the time of the
// machine: a resync of 15 s takes 15 s. Inside a bubble of testing/synctest that
// costs nothing, because the bubble's time jumps when all goroutines wait. Bubble makes
// one, and ends it cleanly even if the code leaves goroutines behind, as some
// libraries do. StartAt has virtual time go faster than the machine's, or only when told.
//
// # CSI drivers
//
// A gRPC call takes the time it takes, and others go on meanwhile: a CreateVolume of two
// seconds delays its own claim only. Deadlines of calls are in virtual time. With speed 0, and in
// what Do calls, a call holds the engine, as in a run that is not live.
//
// # What it is not
//
// Goroutines run when they run: the order of what the controller does and what the
// cluster does is the machine's, so a run cannot be repeated by its seed. Only
// AddProvisioner and its like, which the engine drives, give that.
package live
