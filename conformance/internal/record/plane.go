package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/storagesim/storagesim/conformance/internal/upstream"
)

// controllers lists those of kube-controller-manager whose writes a recording has.
var controllers = []string{"persistentvolume-attach-detach-controller", "persistentvolume-binder-controller", "persistentvolume-expander-controller",
	"persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller", "ephemeral-volume-controller",
	"statefulset-controller", "pod-garbage-collector-controller"}

// ourControllers lists the same, and the scheduler, as `storagesim control` names them.
var ourControllers = []string{"attach-detach", "pv-binder", "expand", "pv-protection", "pvc-protection",
	"ephemeral-volume", "statefulset", "pod-gc", "scheduler"}

// start starts a control plane of upstream's programs. The program ours, if there is one, takes the place of the controllers and the scheduler.
func start(ctx context.Context, folders []string, ours string) (*upstream.Server, error) {
	if ours != "" {
		folders = append(folders, filepath.Dir(ours))
	}
	s, err := upstream.Start(ctx, upstream.Config{Folders: folders, Audit: true})
	if err != nil {
		return nil, err
	}
	if ours != "" {
		err = s.Run(filepath.Base(ours), "control", "--kubeconfig", s.Kubeconfig(), "--no-lease", "--only", strings.Join(ourControllers, ","))
	} else {
		common := []string{"--kubeconfig=" + s.Kubeconfig(), "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=500"}
		own := []string{"--controllers=" + strings.Join(controllers, ","), "--flex-volume-plugin-dir=" + s.File("flex")}
		err = s.Run("kube-controller-manager", append(own, common...)...)
		if err == nil {
			err = s.Run("kube-scheduler", common...)
		}
	}
	if err == nil {
		err = pause(ctx, 5*time.Second) // the controllers' caches
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
