package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Client tells a server that runs somewhere to let something happen.
type Client struct {
	http *http.Client
	url  string
}

// NewClient returns a client of the server that a kubeconfig names; "" is the one that kubectl
// would use.
func NewClient(kubeconfig string) (*Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no kubeconfig of a server: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{client, strings.TrimSuffix(config.Host, "/")}, nil
}

// Step takes one step. Steps is 0 if the cluster is at rest.
func (c *Client) Step(ctx context.Context) (Moved, error) { return c.move(ctx, "step") }

// Settle runs until the cluster is at rest.
func (c *Client) Settle(ctx context.Context) (Moved, error) { return c.move(ctx, "settle") }

// RunFor lets d of virtual time pass at once.
func (c *Client) RunFor(ctx context.Context, d time.Duration) (Moved, error) {
	return c.move(ctx, "run-for?duration="+url.QueryEscape(d.String()))
}

func (c *Client) move(ctx context.Context, command string) (moved Moved, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+controlPath+command, nil)
	if err != nil {
		return moved, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return moved, fmt.Errorf("the server does not answer: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return moved, fmt.Errorf("the server does not answer: %w", err)
	}
	if answer.StatusCode == http.StatusOK {
		return moved, json.Unmarshal(text, &moved)
	}
	var status metav1.Status
	switch err := json.Unmarshal(text, &status); {
	case answer.StatusCode == http.StatusNotFound:
		return moved, fmt.Errorf("the server at %s is not one of storagesim serve", c.url)
	case err != nil || status.Message == "":
		return moved, fmt.Errorf("the server at %s answers %s", c.url, answer.Status)
	}
	return moved, errors.New(status.Message)
}
