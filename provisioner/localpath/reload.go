package localpath

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/trace"
)

// The keys of the ConfigMap.
const (
	keyConfig    = "config.json"
	keySetup     = "setup"
	keyTeardown  = "teardown"
	keyHelperPod = "helperPod.yaml"
)

// configCheckInterval is the interval at which the configuration is read again.
//
// Upstream: provisioner.go ConfigFileCheckInterval, v0.0.37.
const configCheckInterval = 30 * time.Second

// loaded is the last valid configuration and template of helper pods, each with the
// text it was read from, and what was complained about last.
type loaded struct {
	config                   *pathConfig
	helperPod                *v1.Pod
	configText, templateText string
	complaints               map[string]string // by key of the ConfigMap
}

// watchAndRefreshConfig reads the configuration again and again.
//
// Upstream: provisioner.go watchAndRefreshConfig, v0.0.37.
func (p *localPathProvisioner) watchAndRefreshConfig() {
	p.env.Every("config", configCheckInterval, func(ctx context.Context) {
		if p.loaded.config == nil {
			return // it has not been needed yet
		}
		m, err := p.configMap(ctx)
		if err != nil {
			p.complain(keyConfig, err)
			return
		}
		p.complain(keyConfig, p.refreshConfig(m))
		p.complain(keyHelperPod, p.refreshHelperPod(m))
	})
}

// configuration returns the configuration and the template of helper pods. They are
// read when they are needed first: upstream reads them at its start, and does not
// start without.
func (p *localPathProvisioner) configuration(ctx context.Context) (*pathConfig, *v1.Pod, error) {
	if p.loaded.config != nil && p.loaded.helperPod != nil {
		return p.loaded.config, p.loaded.helperPod, nil
	}
	m, err := p.configMap(ctx)
	if err == nil {
		err = p.refreshConfig(m)
	}
	if err == nil {
		err = p.refreshHelperPod(m)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("no valid config available: %w", err)
	}
	return p.loaded.config, p.loaded.helperPod, nil
}

func (p *localPathProvisioner) configMap(ctx context.Context) (*v1.ConfigMap, error) {
	return p.client.CoreV1().ConfigMaps(p.cfg.Namespace).Get(ctx, p.cfg.ConfigMapName, metav1.GetOptions{})
}

// refreshConfig takes the configuration if it is another one and valid.
//
// Upstream: provisioner.go refreshConfig, v0.0.37.
func (p *localPathProvisioner) refreshConfig(m *v1.ConfigMap) error {
	text, err := textOf(m, keyConfig)
	if err != nil || p.loaded.config != nil && p.loaded.configText == text {
		return err
	}
	config, err := parseConfig(text)
	if err != nil {
		return err
	}
	if p.loaded.config != nil {
		p.trace(keyConfig + " is taken")
	}
	if unknown := unknownField(text); unknown != nil {
		p.trace(fmt.Sprintf("%s: %v, which has no effect", keyConfig, unknown))
	}
	p.loaded.config, p.loaded.configText = config, text
	return nil
}

// refreshHelperPod takes the template if it is another one and valid.
//
// Upstream: provisioner.go refreshHelperPod, v0.0.37.
func (p *localPathProvisioner) refreshHelperPod(m *v1.ConfigMap) error {
	text, err := textOf(m, keyHelperPod)
	if err != nil || p.loaded.helperPod != nil && p.loaded.templateText == text {
		return err
	}
	pod, err := loadHelperPod(text, p.cfg.AllowUnsafeHelperPodTemplate)
	if err != nil {
		return err
	}
	p.loaded.helperPod, p.loaded.templateText = pod, text
	return nil
}

// textOf returns a key's value.
//
// Upstream: main.go findConfigFileFromConfigMap, v0.0.37.
func textOf(m *v1.ConfigMap, key string) (string, error) {
	text, ok := m.Data[key]
	if !ok {
		return "", fmt.Errorf("%s is not exist in local-path-config ConfigMap", key)
	}
	return text, nil
}

// complain says once why a key of the ConfigMap is not taken; nil ends it.
func (p *localPathProvisioner) complain(key string, why error) {
	if p.loaded.complaints == nil {
		p.loaded.complaints = map[string]string{}
	}
	text := ""
	if why != nil {
		text = fmt.Sprintf("%s is not taken, the old one stays: %v", key, why)
	}
	if text != "" && p.loaded.complaints[key] != text {
		p.trace(text)
	}
	p.loaded.complaints[key] = text
}

// trace says something of the ConfigMap.
func (p *localPathProvisioner) trace(text string) {
	p.env.Trace(trace.Decision{
		About: trace.Ref{Kind: "ConfigMap", Namespace: p.cfg.Namespace, Name: p.cfg.ConfigMapName},
		Text:  text,
	})
}
