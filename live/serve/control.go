package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/internal/terminal"
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
func (s *run) withControl(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		command, ok := strings.CutPrefix(r.URL.Path, controlPath)
		switch {
		case !ok:
			next.ServeHTTP(w, r)
		case command == "story" && r.Method == http.MethodGet:
			s.story(w, r)
		case strings.HasPrefix(command, "explain/") && r.Method == http.MethodGet:
			s.explain(w, r, strings.TrimPrefix(command, "explain/"))
		case r.Method == http.MethodPost:
			s.move(w, r, command)
		default:
			http.NotFound(w, r)
		}
	})
}

// maxStory is the number of records that one answer tells.
const maxStory = 10_000

// story answers with what has happened: with from=N from record N on, and with limit=N at most so many
// records. Its lines have width=N columns, 0 for any number, or else 120. It is told beside the steps of the cluster.
func (s *run) story(w http.ResponseWriter, r *http.Request) {
	from, err := number(r, "from", 0)
	limit, wrong := number(r, "limit", maxStory)
	width, narrow := number(r, "width", terminal.DefaultWidth)
	if width > 0 && width < terminal.LeastWidth && narrow == nil {
		narrow = fmt.Errorf("width %d: expected at least %d, or 0 for no wrapping", width, terminal.LeastWidth)
	}
	if err := cmp.Or(err, wrong, narrow); err != nil {
		refuse(w, metav1.Status{Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: err.Error()})
		return
	}
	text, next := s.cluster.Trace().Page(from, min(limit, maxStory), width)
	if _, more := s.cluster.Trace().Page(next, 1, width); more > next {
		text += fmt.Sprintf("(there is more: %sstory?from=%d)\n", controlPath, next)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// explain answers why an object is as it is, between two steps: in words, or with output=json as explain.Explanation.
func (s *run) explain(w http.ResponseWriter, r *http.Request, ref string) {
	output := r.URL.Query().Get("output")
	if output != "" && output != "json" {
		refuse(w, metav1.Status{
			Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
			Message: fmt.Sprintf("output %q is not known; expected json, or none for words", bounded.Text(output, 100)),
		})
		return
	}
	var why storagesim.Explanation
	var err error
	if !s.Do(func() { why, err = s.cluster.Lab().Explanation(bounded.Text(ref, 1000)) }) {
		refuse(w, gone())
		return
	}
	if err != nil {
		status := metav1.Status{Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: err.Error()}
		if apierrors.IsNotFound(err) {
			status.Code, status.Reason = http.StatusNotFound, metav1.StatusReasonNotFound
		}
		refuse(w, status)
		return
	}
	if output == "json" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(why)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, why.Text)
}

// number returns a parameter of a request, which must not be negative.
func number(r *http.Request, name string, usual int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s %q is not a number such as 0 or 1000", name, bounded.Text(text, 100))
	}
	return n, nil
}

// move lets something happen: step, settle or run-for.
func (s *run) move(w http.ResponseWriter, r *http.Request, command string) {
	var moved Moved
	var err error
	switch command {
	case "step":
		moved, err = s.moveBy(func() error { _, err := s.cluster.Engine().Step(); return err })
	case "settle":
		moved, err = s.moveBy(s.cluster.Settle)
	case "run-for":
		d, wrong := time.ParseDuration(r.URL.Query().Get("duration"))
		if wrong != nil || d < 0 {
			refuse(w, metav1.Status{
				Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
				Message: fmt.Sprintf("duration %q is not a time such as 90s, 6m or 1h30m, at most 2562047h", r.URL.Query().Get("duration")),
			})
			return
		}
		moved, err = s.runFor(r.Context(), d)
	default:
		http.NotFound(w, r)
		return
	}
	switch {
	case errors.Is(err, errGone):
		refuse(w, gone())
	case err != nil:
		refuse(w, metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()})
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(moved)
	}
}

// errGone is the error of a move when the cluster is not driven any more.
var errGone = errors.New("the cluster has ended")

// moveBy calls move between two steps.
func (s *run) moveBy(move func() error) (moved Moved, err error) {
	if !s.Do(func() {
		before := s.cluster.Engine().Steps()
		err = move()
		moved = Moved{Now: s.cluster.Now(), Steps: s.cluster.Engine().Steps() - before}
	}) {
		return moved, errGone
	}
	return moved, err
}

// The virtual time that run-for lets pass before it looks whether the client is still there and lets
// other requests in: twice as much as long as that takes less than a tenth of a second, and half of it
// if it takes more.
const (
	firstSlice = time.Second
	sliceTakes = 100 * time.Millisecond
)

// runFor lets d pass, in slices. It ends when ctx does.
func (s *run) runFor(ctx context.Context, d time.Duration) (all Moved, err error) {
	var end time.Time
	if !s.Do(func() { all.Now = s.cluster.Now(); end = all.Now.Add(d) }) {
		return all, errGone
	}
	for slice := min(firstSlice, d); ; {
		began := time.Now()
		moved, err := s.moveBy(func() error { return s.cluster.RunFor(max(0, min(slice, end.Sub(s.cluster.Now())))) })
		all = Moved{Now: moved.Now, Steps: all.Steps + moved.Steps}
		if err != nil || !moved.Now.Before(end) {
			return all, err
		}
		if err := ctx.Err(); err != nil {
			return all, fmt.Errorf("run-for ended at %s, because its client has gone: %w", moved.Now.Format(time.RFC3339), err)
		}
		if slice *= 2; time.Since(began) > sliceTakes {
			slice = max(slice/4, time.Millisecond)
		}
	}
}

// gone returns the answer of a server whose cluster is not driven any more.
func gone() metav1.Status {
	return metav1.Status{Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "the cluster has ended"}
}
