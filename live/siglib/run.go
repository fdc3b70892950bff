package siglib

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// ErrLostLease is the error of Run if the controller lost its lease; the real program exits
// then.
var ErrLostLease = errors.New("the controller has lost its lease: a real one would have exited")

// LeftBehind returns the names of the goroutines that the library cannot stop, for live.Bubble: it
// never shuts its event broadcaster down.
func LeftBehind() []string {
	return []string{
		"k8s.io/client-go/tools/record.",
		"k8s.io/apimachinery/pkg/watch.(*Broadcaster)",
	}
}

// Run runs the controller until ctx ends, as its own Run does, but comes back: where
// the library exits the process because its lease has ended, Run returns, with
// ErrLostLease unless ctx has ended. Make the controller before live.Start:
// NewProvisionController writes to client-go's global scheme, which the API server
// reads.
//
// For that it changes a global for good, the first time it is called: klog.OsExit
// ends only the goroutine when that is one of Run's.
func Run(ctx context.Context, c *controller.ProvisionController) error {
	tame()
	returned := make(chan struct{})
	go func() {
		defer close(returned) // also when Goexit ends it
		c.Run(ctx)
	}()
	<-returned
	if ctx.Err() == nil {
		return ErrLostLease
	}
	return nil
}

var tame = sync.OnceFunc(func() {
	exit := klog.OsExit
	klog.OsExit = func(code int) {
		if strings.Contains(string(debug.Stack()), "live/siglib.Run.") {
			runtime.Goexit()
		}
		exit(code)
	}
})
