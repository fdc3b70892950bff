// Package livenessprobe answers /healthz by calling a CSI driver's Probe. It also plays the kubelet that asks for it
// and restarts the driver's container. Begin with probe.
//
// Upstream: livenessprobe cmd/livenessprobe, v2.19; pkg/kubelet/prober, v1.37.
//
// Deviations: HTTP is not used, only its status codes and bodies. The container is restarted at once, and readiness
// of pods is not changed.
package livenessprobe

import (
	"context"
	"fmt"
	"net/http"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/trace"
)

// Config configures one livenessprobe. csi.Driver sets Driver, Dial and Restart.
type Config struct {
	Driver string
	Dial   func(env control.Env) grpc.ClientConnInterface
	// Restart starts the driver's container again.
	Restart func()

	// ProbeTimeout is the time that a call of Probe may take; default 1 s, upstream's.
	ProbeTimeout time.Duration
	// Period is the interval of the probes (periodSeconds), and FailureThreshold the number of failures in a row
	// that restart the container; defaults 10 s and 3, those of pods.
	Period           time.Duration
	FailureThreshold int
}

// New returns the factory of a livenessprobe.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		if err := cfg.setDefaults(); err != nil {
			return err
		}
		p := &prober{cfg: cfg, env: env, driver: spec.NewIdentityClient(cfg.Dial(env))}
		env.Every("probe", cfg.Period, p.probe)
		return nil
	}
}

func (cfg *Config) setDefaults() error {
	if cfg.Restart == nil {
		return fmt.Errorf("livenessprobe of driver %q: Config.Restart must be set", cfg.Driver)
	}
	return sidecar.Check("livenessprobe", cfg.Driver, cfg.Dial, sidecar.Number{Name: "FailureThreshold", Value: &cfg.FailureThreshold, Default: 3},
		sidecar.Time{Name: "ProbeTimeout", Value: &cfg.ProbeTimeout, Default: time.Second},
		sidecar.Time{Name: "Period", Value: &cfg.Period, Default: 10 * time.Second})
}

type prober struct {
	cfg    Config
	env    control.Env
	driver spec.IdentityClient
	failed int // in a row
}

// probe does one round of the kubelet.
//
// Upstream: pkg/kubelet/prober/worker.go doProbe, v1.37.
func (p *prober) probe(ctx context.Context) {
	code, body := healthz(control.WithTimeout(ctx, p.env, p.cfg.ProbeTimeout), p.driver)
	if code == http.StatusOK {
		p.failed = 0
		return
	}
	p.failed++
	about := trace.Ref{Kind: "CSIDriver", Name: p.cfg.Driver}
	p.env.Trace(trace.Decision{About: about, Text: fmt.Sprintf("Liveness probe failed: HTTP probe failed with statuscode: %d: %s", code, body)})
	if p.failed < p.cfg.FailureThreshold {
		return
	}
	p.failed = 0
	p.env.Trace(trace.Decision{About: about, Text: "Container failed liveness probe, will be restarted"})
	p.cfg.Restart()
}

// healthz returns the status and the body of the answer to GET /healthz. The deadline of ctx is the probe's.
//
// Upstream: main.go checkHealth, v2.19.
func healthz(ctx context.Context, driver spec.IdentityClient) (code int, body string) {
	answer, err := driver.Probe(ctx, &spec.ProbeRequest{})
	switch {
	case err != nil:
		return http.StatusInternalServerError, status.Convert(err).Err().Error()
	case answer.GetReady() != nil && !answer.GetReady().GetValue(): // unset is ready
		return http.StatusInternalServerError, "driver responded but is not ready"
	}
	return http.StatusOK, "ok"
}

// Handler serves /healthz for a driver in another process, in real time. timeout is the probe's.
func Handler(driver spec.IdentityClient, timeout time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), timeout)
		defer cancel()
		code, body := healthz(ctx, driver)
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	})
	return mux
}
