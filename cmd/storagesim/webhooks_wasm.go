//go:build js || wasip1

package main

import (
	"errors"

	"github.com/storagesim/storagesim"
)

// webhookOptions are flags that cannot be used here: there is no network.
type webhookOptions struct {
	services []string
	certs    string
	urls     bool
}

func (o *webhookOptions) check() error {
	if o.outside() || o.certs != "" {
		return errors.New("--webhook-service, --webhook-urls, --webhook-certs: no program can be reached from here")
	}
	return nil
}

func (o *webhookOptions) outside() bool { return o.urls || len(o.services) > 0 }

func (o *webhookOptions) begin() (end func() error, err error) {
	return func() error { return nil }, nil
}

func (o *webhookOptions) ask(*storagesim.Cluster) error { return nil }
