package requests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/crd"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/api/rest"
)

// Result is a request that was played.
type Result struct {
	Request
	// Skipped says why the request could not be played; empty if it was.
	Skipped string
	// Differences lists what differs between the answers; it is empty if they agree.
	Differences []Difference
}

// Play plays a recording against an empty server, whose clock stands still, and compares each
// answer. A watch lasts as long as its timeoutSeconds say, in real time. The error is one of making
// the server.
func Play(recording []Request) ([]Result, error) {
	p, err := newPlayer()
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(recording))
	for i, r := range recording {
		results[i] = Result{Request: r, Skipped: r.unplayable()}
		if results[i].Skipped != "" {
			continue
		}
		if results[i].Differences, err = p.play(&r); err != nil {
			return nil, fmt.Errorf("request %d, %s: %w", i, r.Name, err)
		}
	}
	return results, nil
}

// player plays requests one after the other.
type player struct {
	transport http.RoundTripper
	// ours holds, for each UID, version and token that the real server chose, ours.
	ours map[string]string
	// generated lists the generateNames of earlier requests: what follows them is chance.
	generated []string
}

func newPlayer() (*player, error) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return start }
	registry := registry.New()
	server := api.NewServer(api.Config{Now: now, Registry: registry})
	if err := errors.Join(crd.Install(server, now), server.Furnish()); err != nil {
		return nil, err
	}
	return &player{transport: rest.New(server, registry, now).Config("kubectl").Transport, ours: map[string]string{}}, nil
}

// play makes a request and compares its answer with the recorded one.
func (p *player) play(r *Request) ([]Difference, error) {
	if prefix := generateName(r.Body); prefix != "" {
		p.generated = append(p.generated, prefix)
	}
	for _, earlier := range unrecorded()[r.Name] {
		if _, err := p.do(&earlier); err != nil {
			return nil, err
		}
	}
	ours, err := p.do(r)
	if err != nil {
		return nil, err
	}
	p.learn(r.Content, ours.Content)
	return compareAnswers(&r.Answer, ours, p.generated), nil
}

// longest is the time after which a request ends that should have been answered at once.
const longest = 10 * time.Second

// do makes a request.
func (p *player) do(r *Request) (*Answer, error) {
	// Where the server recorded did not stream, ours would until the client goes.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.End == "" {
		ctx, cancel = context.WithTimeout(ctx, longest)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, "http://storagesim"+p.translate(r.Path), nil)
	if err != nil {
		return nil, err
	}
	if body := p.translate(r.Body); body != "" {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}
	req.Header.Set("User-Agent", "kubectl/probe")
	req.Header.Set("Accept", "application/json")
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	res, err := p.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &Answer{
		Code: res.StatusCode, ContentType: res.Header.Get("Content-Type"),
		Warnings: res.Header.Values("Warning"), RetryAfter: res.Header.Get("Retry-After"),
	}
	if r.End != "" && res.StatusCode == http.StatusOK {
		a.Content, a.End = events(res.Body, r)
		return a, nil
	}
	data, err := io.ReadAll(res.Body)
	if err != nil || r.Method == http.MethodHead {
		a.Content = ""
		return a, err
	}
	a.Content = content(data, a.ContentType)
	return a, nil
}

// events reads the events of a watch until the server ends it, or until there are as many as the client
// of the recording waited for.
func events(body io.Reader, r *Request) (list []any, end string) {
	list = []any{}
	recorded, _ := r.Content.([]any)
	lines := bufio.NewReader(body)
	for r.End == "closed" || len(list) < len(recorded) {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			list = append(list, content(line, "application/json"))
		}
		if err != nil {
			return list, "closed"
		}
	}
	return list, r.End
}

// content returns a body in the form in which recordings hold it. Of binary forms it holds nothing.
func content(data []byte, contentType string) any {
	var value any
	switch {
	case strings.Contains(contentType, "protobuf") || strings.Contains(contentType, "cbor"):
		return map[string]any{}
	case strings.Contains(contentType, "json") && json.Unmarshal(data, &value) == nil:
		return value
	}
	text := string(data)
	if utf8.RuneCountInString(text) > bodyLimit {
		text = string([]rune(text)[:bodyLimit])
	}
	return text
}

// learn remembers what stands here where the real server chose a UID, a version or a token.
func (p *player) learn(recorded, ours any) {
	switch r := recorded.(type) {
	case map[string]any:
		o, _ := ours.(map[string]any)
		for field, value := range r {
			from, _ := value.(string)
			to, _ := o[field].(string)
			switch {
			case o == nil:
				return
			case !isChosen(field):
				p.learn(value, o[field])
			case from != "" && to != "":
				p.ours[from] = to
			}
		}
	case []any:
		o, _ := ours.([]any)
		for i := range min(len(r), len(o)) {
			p.learn(r[i], o[i])
		}
	}
}

func isChosen(field string) bool {
	return field == "uid" || field == "resourceVersion" || field == "continue"
}

// inRequest finds, in the path and in the body of a request, values that a server may have chosen.
var inRequest = regexp.MustCompile(`((?:resourceVersion|continue)=|"(?:resourceVersion|uid|continue)": ?")([^&"]+)`)

// translate replaces in the text of a request what the real server chose by what stands here.
func (p *player) translate(text string) string {
	return inRequest.ReplaceAllStringFunc(text, func(found string) string {
		parts := inRequest.FindStringSubmatch(found)
		if ours, ok := p.ours[parts[2]]; ok {
			return parts[1] + ours
		}
		return found
	})
}

// generateName returns the generateName of an object that a request creates without a name.
func generateName(body string) string {
	var object struct {
		Metadata struct{ Name, GenerateName string }
	}
	if json.Unmarshal([]byte(body), &object) != nil || object.Metadata.Name != "" {
		return ""
	}
	return object.Metadata.GenerateName
}
