package localpath

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/control"
)

// The keys of the ConfigMap.
const (
	keyConfig    = "config.json"
	keySetup     = "setup"
	keyTeardown  = "teardown"
	keyHelperPod = "helperPod.yaml"
)

// configCheckInterval is how often the configuration is read again.
//
// Upstream: provisioner.go ConfigFileCheckInterval, v0.0.37.
const configCheckInterval = 30 * time.Second

// loaded is the last valid configuration, and what was last complained about.
type loaded struct {
	config     *pathConfig
	configText string
	helperPod  *v1.Pod
	complaint  string
}

// watchAndRefreshConfig reads the configuration again and again.
//
// Upstream: provisioner.go watchAndRefreshConfig, v0.0.37.
func (p *Provisioner) watchAndRefreshConfig() {
	p.env.Every("config", configCheckInterval, func(ctx context.Context) {
		if p.loaded.config == nil {
			return // nobody has asked for it yet
		}
		if err := p.refreshConfig(ctx); err != nil {
			p.complain("is not taken, the old configuration stays: " + err.Error())
		}
	})
}

// configuration is the configuration and the template of helper pods. They are
// read when they are needed first: upstream reads them at its start, and does not
// start without.
func (p *Provisioner) configuration(ctx context.Context) (*pathConfig, *v1.Pod, error) {
	if p.loaded.config == nil {
		if err := p.refreshConfig(ctx); err != nil {
			return nil, nil, fmt.Errorf("no valid config available: %w", err)
		}
	}
	return p.loaded.config, p.loaded.helperPod, nil
}

// refreshConfig reads the configuration, and keeps it if it is valid.
//
// Upstream: provisioner.go refreshConfig and refreshHelperPod, v0.0.37.
func (p *Provisioner) refreshConfig(ctx context.Context) error {
	m, err := p.client.CoreV1().ConfigMaps(p.cfg.Namespace).Get(ctx, p.cfg.ConfigMapName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	text, ok := m.Data[keyConfig]
	if !ok {
		return fmt.Errorf("config map %s has no key %s", control.Key(m), keyConfig)
	}
	config, err := parseConfig(text)
	if err != nil {
		return fmt.Errorf("config map %s, key %s: %w", control.Key(m), keyConfig, err)
	}
	helperPod, err := p.loadHelperPod(m.Data[keyHelperPod])
	if err != nil {
		return fmt.Errorf("config map %s, key %s: %w", control.Key(m), keyHelperPod, err)
	}
	if p.loaded.config != nil && !sameText(p.loaded.configText, text) {
		p.trace("is taken")
	}
	p.loaded = loaded{config: config, configText: text, helperPod: helperPod}
	return nil
}

// loadHelperPod reads the template of helper pods; without one, a plain pod is
// the template.
//
// Upstream: util.go loadHelperPodFile, v0.0.37.
func (p *Provisioner) loadHelperPod(text string) (*v1.Pod, error) {
	pod := &v1.Pod{}
	if text == "" {
		pod.Name = "helper-pod"
		pod.Spec.Containers = []v1.Container{{Name: "helper-pod"}}
	} else if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		return nil, fmt.Errorf("must be the YAML of a pod: %w", err)
	}
	switch {
	case pod.Kind != "" && pod.Kind != "Pod":
		return nil, fmt.Errorf("kind is %q; it must be Pod", pod.Kind)
	case pod.Name == "":
		return nil, errors.New("metadata.name is empty; helper pods' names begin with it")
	case len(pod.Spec.Containers) != 1:
		return nil, fmt.Errorf("spec.containers has %d elements; it must have one", len(pod.Spec.Containers))
	}
	if pod.Spec.Containers[0].Image == "" {
		pod.Spec.Containers[0].Image = p.cfg.HelperImage
	}
	return pod, nil
}

// complain says something of the ConfigMap once.
func (p *Provisioner) complain(text string) {
	if p.loaded.complaint != text {
		p.loaded.complaint = text
		p.trace(text)
	}
}

// trace says something of the ConfigMap.
func (p *Provisioner) trace(text string) {
	p.env.Trace(control.Decision{
		About: control.Ref{Kind: "ConfigMap", Namespace: p.cfg.Namespace, Name: p.cfg.ConfigMapName},
		Text:  text,
	})
}
