package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controlPath is the prefix of paths that control the run instead of the API.
const controlPath = "/storagesim/"

// Moved is the result of a command that takes steps.
type Moved struct {
	// Now is the virtual time after it.
	Now time.Time `json:"now"`
	// Steps is the number of steps taken.
	Steps uint64 `json:"steps"`
}

// withControl serves the paths about the run, and hands everything else on.
func (s *Server) withControl(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		command, ok := strings.CutPrefix(r.URL.Path, controlPath)
		switch {
		case !ok:
			next.ServeHTTP(w, r)
		case command == "story" && r.Method == http.MethodGet:
			s.story(w)
		case r.Method == http.MethodPost:
			s.move(w, r, command)
		default:
			http.NotFound(w, r)
		}
	})
}

// story answers with what has happened so far.
func (s *Server) story(w http.ResponseWriter) {
	var text string
	if !s.Do(func() { text = s.cluster.Story() }) {
		refuse(w, gone())
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// move lets something happen: step, settle or run-for.
func (s *Server) move(w http.ResponseWriter, r *http.Request, command string) {
	var move func() error
	switch command {
	case "step":
		move = func() error { _, err := s.cluster.Step(); return err }
	case "settle":
		move = s.cluster.Settle
	case "run-for":
		d, err := time.ParseDuration(r.URL.Query().Get("duration"))
		if err != nil || d < 0 {
			refuse(w, metav1.Status{
				Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
				Message: fmt.Sprintf("duration %q is not a time such as 90s, 6m or 1h30m", r.URL.Query().Get("duration")),
			})
			return
		}
		move = func() error { return s.cluster.RunFor(d) }
	default:
		http.NotFound(w, r)
		return
	}
	var moved Moved
	var err error
	if !s.Do(func() {
		before := s.cluster.Engine().Steps()
		err = move()
		moved = Moved{Now: s.cluster.Now(), Steps: s.cluster.Engine().Steps() - before}
	}) {
		refuse(w, gone())
		return
	}
	if err != nil {
		refuse(w, metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(moved)
}

// gone returns the answer of a server whose cluster is not driven any more.
func gone() metav1.Status {
	return metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "the cluster has ended"}
}
