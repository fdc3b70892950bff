// Package mayfail marks the places where your code can fail, for example each call to your storage:
//
//	disk, err := mayfail.Get(ctx, "appliance.create", func() (string, error) {
//		return appliance.Create(ctx, name, size)
//	})
//
// In production that calls the function, and nothing else: the package imports the standard library only, holds no
// state, and costs some nanoseconds a call. In a run of storagesim the context knows that it belongs to the simulation,
// and then a fault can strike at such a point:
//
//   - an error: the function is not called, and the caller gets an *Error;
//   - a lost answer: the function is called, and the caller gets an *Error all the same;
//   - slowness: virtual time passes before the function is called;
//   - a crash before or after the function: the process ends and starts again.
//
// Without such points a simulation knows of your code only its calls to the Kubernetes API and, for a CSI driver, the calls
// that it gets: nothing can go wrong between Provision and what your storage does.
//
// The points of the plain run are places of an exploration (package explore), which tries each with each kind of fault.
// An engine.PointFault, injected into a cluster, and the command fail-point of a story strike one on purpose.
//
// # Where it works
//
// Pass on the context that your code was given: that of Provision and Delete, of a controller's Reconcile or of another
// task of an actor, of a gRPC handler of a CSI driver in the process of the simulation, or of a program that
// Cluster.AddProgram runs. There is no fault, and the function is simply called, with another context, in production, in a
// CSI driver that runs in another process, and in controllers that run against another API server (package live/remote).
package mayfail
