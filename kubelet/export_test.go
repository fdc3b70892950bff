package kubelet

import "github.com/storagesim/storagesim/control"

// NewForgetful is a kubelet as it was before KEP-3756: it does not look on disk for
// what an earlier life of it has mounted.
func NewForgetful(cfg Config) control.Factory {
	return func(env control.Env) error {
		k, err := newKubelet(cfg, env)
		if err == nil {
			k.start()
		}
		return err
	}
}

// NewRemoving is a kubelet that removes the directories of pods with all that is in
// them, as it did in kubernetes/kubernetes 7317.
func NewRemoving(cfg Config) control.Factory {
	return func(env control.Env) error {
		k, err := newKubelet(cfg, env)
		if err == nil {
			k.removeDir = cfg.Root.RemoveAll
			k.run()
		}
		return err
	}
}
