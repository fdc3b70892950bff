package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kubectlCommand is the header in which kubectl says which of its commands makes a request.
// Upstream: cli-runtime pkg/genericclioptions command_headers.go, v0.37.
const kubectlCommand = "Kubectl-Command"

// withAges answers kubectl describe with times of the real clock. describe tells ages by its own clock, which says
// nothing of virtual time: without this all ages are <invalid>, or years. Each time in the answer is moved by the
// difference of the two clocks, so that what is twelve virtual minutes old is twelve minutes old. All other clients, and all
// writes, see virtual time. Tables (kubectl get) have ages of the server's.
func (s *run) withAges(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get(kubectlCommand) != "kubectl describe" || r.URL.Query().Get("watch") != "" {
			next.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json") // which kubectl can read, too
		answer := &held{header: w.Header(), code: http.StatusOK}
		next.ServeHTTP(answer, r)
		body := answer.body.Bytes()
		if by, ok := s.clocksDiffer(); ok && strings.HasPrefix(answer.header.Get("Content-Type"), "application/json") {
			body = moveTimes(body, by)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(answer.code)
		_, _ = w.Write(body)
	})
}

// clocksDiffer returns how far the real clock is ahead of the virtual one.
func (s *run) clocksDiffer() (by time.Duration, ok bool) {
	ok = s.Do(func() { by = time.Since(s.cluster.Now()) })
	return by, ok
}

// held keeps an answer back.
type held struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (h *held) Header() http.Header         { return h.header }
func (h *held) WriteHeader(code int)        { h.code = code }
func (h *held) Write(b []byte) (int, error) { return h.body.Write(b) }

// moveTimes moves all times in a JSON document. A document that cannot be read is left as it is.
func moveTimes(document []byte, by time.Duration) []byte {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return document
	}
	moved, err := json.Marshal(movedValue("", value, by))
	if err != nil {
		return document
	}
	return moved
}

// movedValue returns a value of a field with its times moved.
func movedValue(field string, value any, by time.Duration) any {
	switch v := value.(type) {
	case map[string]any:
		if field == "annotations" || field == "labels" || field == "data" {
			return v // the user's own text
		}
		for key, inner := range v {
			v[key] = movedValue(key, inner, by)
		}
	case []any:
		for i, inner := range v {
			v[i] = movedValue(field, inner, by)
		}
	case string:
		if !isTime(field) {
			return v
		}
		for _, layout := range []string{"2006-01-02T15:04:05.000000Z07:00", time.RFC3339} { // as metav1.MicroTime and metav1.Time
			if at, err := time.Parse(layout, v); err == nil && at.Format(layout) == v {
				return at.Add(by).UTC().Format(layout)
			}
		}
	}
	return value
}

// isTime reports whether a field of that name holds a time in the kinds of the API.
func isTime(field string) bool {
	return strings.HasSuffix(field, "Timestamp") || strings.HasSuffix(field, "Time") || slices.Contains([]string{"startedAt", "finishedAt"}, field)
}
