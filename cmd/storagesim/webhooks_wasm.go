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
}

func (o *webhookOptions) check() error {
	if len(o.services) > 0 || o.certs != "" {
		return errors.New("--webhook-service, --webhook-certs: no program can be reached from here")
	}
	return nil
}

func (o *webhookOptions) begin() (end func() error, err error) {
	return func() error { return nil }, nil
}

func (o *webhookOptions) ask(*storagesim.Cluster) error { return nil }
