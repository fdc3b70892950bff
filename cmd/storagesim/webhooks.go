//go:build !js && !wasip1

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/webhooks"
	"github.com/storagesim/storagesim/trace"
)

// webhookOptions are the flags of serve about admission webhooks that run outside.
type webhookOptions struct {
	services []string
	certs    string
	urls     bool

	config webhooks.Config
}

func (o *webhookOptions) check() error {
	o.config.Services, o.config.URLs = map[string]string{}, o.urls
	for _, text := range o.services {
		service, address, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("--webhook-service: %q is not NAMESPACE/NAME=ADDRESS:PORT, such as shop/webhook=127.0.0.1:9443", text)
		}
		if o.config.Services[service] != "" {
			return fmt.Errorf("--webhook-service: %s is given twice", service)
		}
		o.config.Services[service] = address
	}
	if o.certs != "" && len(o.services) == 0 {
		return errors.New("--webhook-certs: name the Services that the certificate is for, with --webhook-service")
	}
	if _, err := webhooks.New(o.config); err != nil {
		return fmt.Errorf("--webhook-service: %w", err)
	}
	return checkNewOrEmpty("--webhook-certs", o.certs)
}

// outside reports whether any program outside is asked.
func (o *webhookOptions) outside() bool { return o.urls || len(o.services) > 0 }

// begin writes the certificate. end removes it.
func (o *webhookOptions) begin() (end func() error, err error) {
	if o.certs == "" {
		return func() error { return nil }, nil
	}
	_, missing := os.Stat(o.certs)
	services := make([]string, 0, len(o.config.Services))
	for service := range o.config.Services {
		services = append(services, service)
	}
	slices.Sort(services)
	o.config.CABundle, err = webhooks.WriteCertificate(o.certs, services)
	if err != nil {
		return nil, fmt.Errorf("--webhook-certs: %w", err)
	}
	return func() error {
		errs := []error{removed(filepath.Join(o.certs, webhooks.CertificateFile)), removed(filepath.Join(o.certs, webhooks.KeyFile))}
		if missing != nil {
			errs = append(errs, removed(o.certs))
		}
		return errors.Join(errs...)
	}, nil
}

// removed removes a file or an empty directory, unless that is done already.
func removed(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ask makes a cluster ask webhooks that run outside.
func (o *webhookOptions) ask(c *storagesim.Cluster) error {
	if !o.outside() {
		return nil
	}
	config := o.config
	config.Tell = func(about trace.Ref, text string) {
		c.Engine().Trace().Add(trace.Entry{Time: c.Now(), Actor: "kube-apiserver", Record: trace.Decision{About: about, Text: text}})
	}
	asks, err := webhooks.New(config)
	if err != nil {
		return err
	}
	c.Engine().Server().AskWebhooks(asks)
	return nil
}
