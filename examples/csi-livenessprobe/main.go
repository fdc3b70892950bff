// Csi-livenessprobe plays a driver that stops answering: livenessprobe asks its Probe, answers
// 500 at /healthz, and the kubelet starts the driver's container again.
package main

import (
	"context"
	"embed"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/livenessprobe"
	"github.com/storagesim/storagesim/examples/internal/show"
)

//go:embed *.yaml
var manifests embed.FS

func main() { show.Main(play) }

func play(out io.Writer) error {
	c, err := storagesim.New(storagesim.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	s := show.New(c, manifests, out)

	s.Title("What /healthz answers, for each answer of Probe.")
	for _, probe := range []prober{{ready: wrapperspb.Bool(true)}, {}, {ready: wrapperspb.Bool(false)}, {err: status.Error(codes.Internal, "no disk")}} {
		answer := healthz(probe)
		s.Printf("%d %s\n", answer.Code, answer.Body)
	}

	s.Title("A driver that hangs: three failures, ten seconds apart, and it is started again.")
	d, err := driver.New(driver.Config{})
	s.Try(err)
	d.Liveness = &livenessprobe.Config{} // the kubelet's and livenessprobe's own defaults
	s.Try(c.InstallCSIDriver(d))
	s.RunFor(5 * time.Second)
	s.Try(c.Inject(call.Fault{Caller: "csi-livenessprobe/" + driver.Name, Method: "Probe", Hang: true, Times: 3}))
	s.RunFor(40 * time.Second)

	s.Title("It has forgotten nothing, and goes on.")
	s.Apply("claim.yaml")
	s.RunFor(10 * time.Second)
	s.Get("pvc")
	return s.Err()
}

// healthz returns livenessprobe's answer to the kubelet's request for /healthz.
func healthz(driver prober) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	livenessprobe.Handler(driver, time.Second).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	return answer
}

// prober is a driver that answers Probe.
type prober struct {
	spec.IdentityClient
	ready *wrapperspb.BoolValue
	err   error
}

func (p prober) Probe(context.Context, *spec.ProbeRequest, ...grpc.CallOption) (*spec.ProbeResponse, error) {
	return &spec.ProbeResponse{Ready: p.ready}, p.err
}
