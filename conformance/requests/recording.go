package requests

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/storagesim/storagesim/internal/manifest"
)

// Request is a request of a recording with the answer that the real server gave.
type Request struct {
	// Name says what is asked; Section names the part of the recording.
	Name    string `json:"name"`
	Section string `json:"sec"`
	// Method, Path (with the query) and Body are the request.
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"req"`
	// ContentType and Accept are headers of the request; empty if there were none.
	ContentType string `json:"reqct"`
	Accept      string `json:"accept"`
	// Whole asks that the managedFields of the answer's object agree, too, and whether it was written: its version is another then.
	Whole bool `json:"whole,omitempty"`
	Answer
}

// Answer is an answer of an API server.
type Answer struct {
	// Code is the HTTP status code.
	Code int `json:"status"`
	// ContentType is the header of that name.
	ContentType string `json:"ct"`
	// Warnings lists the Warning headers.
	Warnings []string `json:"warn"`
	// RetryAfter is the header of that name; empty if there is none.
	RetryAfter string `json:"retry"`
	// End says how a watch ended: "closed" by the server, "enough" when the client had all that it
	// wanted, "timeout" when the client gave up; empty if the request is not a watch or was refused.
	End string `json:"end"`
	// Content is the body: a value of JSON, the list of the events of a watch, or a text.
	Content any `json:"body"`
}

// bodyLimit is the length at which bodies were cut in the first recordings, in characters.
const bodyLimit = 3000

// unplayable returns why the request cannot be played; empty if it can.
func (r *Request) unplayable() string {
	switch {
	case utf8.RuneCountInString(r.Body) == bodyLimit: // a longer one was recorded whole
		return fmt.Sprintf("its body was recorded only up to %d characters", bodyLimit)
	case r.Code < 0:
		return "the recorder had no answer"
	}
	return ""
}

// unrecordedText lists requests that were made and not recorded.
//
//go:embed testdata/unrecorded.txt
var unrecordedText string

// unrecordedLine is such a request: the name of the one after it, its path and body.
var unrecordedLine = regexp.MustCompile(`(?m)^before (.+): POST (\S+) (.+)$`)

// unrecorded returns the requests that come before those of the given names and are in no recording.
func unrecorded() map[string][]Request {
	all := map[string][]Request{}
	for _, m := range unrecordedLine.FindAllStringSubmatch(unrecordedText, -1) {
		all[m[1]] = append(all[m[1]], Request{Name: "not recorded", Method: http.MethodPost, Path: m[2], Body: m[3], ContentType: "application/json"})
	}
	return all
}

// Load reads a recording: NAME.json or NAME.json.gz.
func Load(path string) ([]Request, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, manifest.Plainly(path, err)
	}
	if strings.HasSuffix(path, ".gz") {
		if data, err = unzip(data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var list []Request
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: it is not a list of recorded requests: %w", path, err)
	}
	for i, r := range list {
		if r.Name == "" || r.Method == "" || !strings.HasPrefix(r.Path, "/") || r.Code == 0 {
			return nil, fmt.Errorf("%s: request %d needs a name, a method, a path that begins with / and a status", path, i)
		}
	}
	return list, nil
}

func unzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = out.ReadFrom(r)
	return out.Bytes(), err
}

// files returns the recordings in a directory, sorted by name.
func files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, manifest.Plainly(dir, err)
	}
	var paths []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".json.gz")) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	slices.Sort(paths)
	if len(paths) == 0 {
		return nil, fmt.Errorf("there is no recording in %s: neither NAME.json nor NAME.json.gz", dir)
	}
	return paths, nil
}
