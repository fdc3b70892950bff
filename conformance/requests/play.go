package requests

import (
	"bufio"
	"bytes"
	"cmp"
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
	// Ours is the answer that was given here.
	Ours Answer
}

// Play plays a recording against an empty server of ours, whose clock stands still, and compares each
// answer. A watch lasts as long as its timeoutSeconds say, in real time. The error is one of making
// the server.
func Play(recording []Request) ([]Result, error) {
	server, err := Ours()
	if err != nil {
		return nil, err
	}
	return server.Play(recording)
}

// Server is an API server to which requests are sent.
type Server struct {
	transport http.RoundTripper
	url       string
	// ours holds, for each UID, version, token and time of a deletion that the recorded server chose, this server's.
	ours map[string]string
	// generated lists the generateNames of earlier requests: what follows them is chance.
	generated []string
}

// At returns the server at an address, such as https://127.0.0.1:6443, that a transport reaches.
func At(url string, transport http.RoundTripper) *Server {
	return &Server{transport: transport, url: url, ours: map[string]string{}}
}

// Ours returns an empty server of ours.
func Ours() (*Server, error) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return start }
	registry := registry.New()
	server := api.NewServer(api.Config{Now: now, Registry: registry})
	if err := errors.Join(crd.Install(server, now), server.Furnish(nil)); err != nil {
		return nil, err
	}
	return At("http://storagesim", rest.New(server, registry, now).Config("kubectl").Transport), nil
}

// Play plays a recording, one request after the other, and compares each answer.
func (s *Server) Play(recording []Request) ([]Result, error) {
	results := make([]Result, len(recording))
	for i, r := range recording {
		results[i] = Result{Request: r, Skipped: r.unplayable()}
		if results[i].Skipped != "" {
			continue
		}
		var err error
		if err = s.play(&results[i]); err != nil {
			return nil, fmt.Errorf("request %d, %s: %w", i, r.Name, err)
		}
	}
	return results, nil
}

// play makes a request and compares its answer with the recorded one.
func (s *Server) play(r *Result) error {
	if prefix := generateName(r.Body); prefix != "" {
		s.generated = append(s.generated, prefix)
	}
	for _, earlier := range unrecorded()[r.Name] {
		if _, err := s.Ask(&earlier); err != nil {
			return err
		}
	}
	ours, err := s.Ask(&r.Request)
	if err != nil {
		return err
	}
	r.Ours = *ours
	r.Differences = compareAnswers(&r.Answer, ours, s.generated)
	if r.Whole {
		recorded, ours := asMap(asMap(r.Content)["metadata"]), asMap(asMap(ours.Content)["metadata"])
		r.Differences = append(r.Differences, compareManagers(recorded, ours)...)
		r.Differences = append(r.Differences, s.compareVersions(r, recorded, ours)...)
	}
	s.learn(r.Content, ours.Content)
	return nil
}

// longest is the time after which a request ends that should have been answered at once.
const longest = 10 * time.Second

// Ask sends a request and returns the answer in the form in which recordings hold it.
func (s *Server) Ask(r *Request) (*Answer, error) {
	// Where the server recorded did not stream, ours would until the client goes.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.End == "" {
		ctx, cancel = context.WithTimeout(ctx, longest)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, s.url+s.translate(r.Path), nil)
	if err != nil {
		return nil, err
	}
	if body := s.translate(r.Body); body != "" {
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
	res, err := s.transport.RoundTrip(req)
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

// learn remembers what stands here where the real server chose a UID, a version, a token or the time of a deletion: in metadata.
func (s *Server) learn(recorded, ours any) {
	switch r := recorded.(type) {
	case map[string]any:
		o, _ := ours.(map[string]any)
		if o == nil {
			return
		}
		for field, value := range r {
			if field == "metadata" {
				s.learnChosen(asMap(value), asMap(o[field]))
			}
			s.learn(value, o[field])
		}
	case []any:
		o, _ := ours.([]any)
		for i := range min(len(r), len(o)) {
			s.learn(r[i], o[i])
		}
	}
}

func (s *Server) learnChosen(recorded, ours map[string]any) {
	for field, value := range recorded {
		from, _ := value.(string)
		to, _ := ours[field].(string)
		if isChosen(field) && from != "" && to != "" {
			s.ours[from] = to
		}
	}
}

func isChosen(field string) bool {
	return field == "uid" || field == "resourceVersion" || field == "continue" || field == "deletionTimestamp"
}

// inRequest finds, in the path and in the body of a request, values that a server may have chosen.
var inRequest = regexp.MustCompile(`((?:resourceVersion|continue)=|"(?:resourceVersion|uid|continue|deletionTimestamp)": ?")([^&"]+)`)

// identifiers are UIDs wherever they stand: a Job's is in its labels, too.
var identifiers = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// translate replaces in the text of a request what the real server chose by what stands here.
func (s *Server) translate(text string) string {
	text = identifiers.ReplaceAllStringFunc(text, func(found string) string { return cmp.Or(s.ours[found], found) })
	return inRequest.ReplaceAllStringFunc(text, func(found string) string {
		parts := inRequest.FindStringSubmatch(found)
		if ours, ok := s.ours[parts[2]]; ok {
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
