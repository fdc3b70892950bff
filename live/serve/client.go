package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim"
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
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no kubeconfig of a server is named: storagesim serve starts a server, in another terminal, " +
			"and prints the line that sets KUBECONFIG; --kubeconfig FILE names one, too")
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", failed.Path, failed.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("no kubeconfig of a server: %w; storagesim serve starts a server and writes one", err)
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

// Explain says why an object is as it is. ref is as for Cluster.Explain.
func (c *Client) Explain(ctx context.Context, ref string) (why storagesim.Explanation, err error) {
	parts := strings.Split(ref, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return why, c.do(ctx, http.MethodGet, "explain/"+strings.Join(parts, "/")+"?output=json", &why)
}

func (c *Client) move(ctx context.Context, command string) (moved Moved, err error) {
	return moved, c.do(ctx, http.MethodPost, command, &moved)
}

// maxAnswer is the longest answer that is read.
const maxAnswer = 64 << 20

// do sends one request and decodes its answer.
func (c *Client) do(ctx context.Context, method, command string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.url+controlPath+command, nil)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("the server does not answer; does storagesim serve run, and did it write this kubeconfig? %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	if answer.StatusCode == http.StatusOK {
		return json.Unmarshal(text, into)
	}
	var status metav1.Status
	switch err := json.Unmarshal(text, &status); {
	case answer.StatusCode == http.StatusNotFound && (err != nil || status.Message == ""),
		strings.HasPrefix(status.Message, "the server could not find the requested resource"):
		return fmt.Errorf("the server at %s is not one of storagesim serve", c.url)
	case answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the server at %s does not accept the token of the kubeconfig (%s): storagesim serve makes a new one each time it starts, "+
			"so take the file that it wrote last", c.url, status.Message)
	case answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("the server at %s refuses: %s; storagesim serve lets its user read everything, so this is another cluster, of which it knows nothing: "+
			"use the kubeconfig that serve has written", c.url, status.Message)
	case err != nil || status.Message == "":
		return fmt.Errorf("the server at %s answers %s", c.url, answer.Status)
	}
	return errors.New(status.Message)
}
