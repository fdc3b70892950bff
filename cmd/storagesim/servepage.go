package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/live/serve"
	"github.com/storagesim/storagesim/story"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/page"
)

// Bounds of what the live page sends and gets.
const (
	maxPost   = 4 << 20 // bytes of a command with its input
	liveSteps = 5000    // steps of the story that it shows
)

// livePage is the page of a served cluster, on a port of its own: it shows what has happened, and plays lines of the story language.
type livePage struct {
	server *serve.Server
	zero   time.Time // t = 0 of the story
	told   int       // number of the first record that is shown
	token  string
	host   string // 127.0.0.1:PORT
	first  string // what a story of the page begins with

	mu    sync.Mutex // held while a command is played
	shell *story.Shell

	http  *http.Server
	ended chan error // has the reason why it listens no longer
}

// startPage offers the page of a served cluster on a free port of this machine, until Close. A story of the page begins
// with first.
func startPage(ctx context.Context, server *serve.Server, c *storagesim.Cluster, zero time.Time, first string) (*livePage, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	p := &livePage{server: server, zero: zero, first: first, token: rand.Text(), host: listener.Addr().String(), ended: make(chan error, 1)}
	server.Do(func() {
		p.told = c.Engine().Trace().Len() - len(c.Records())
		p.shell = story.Attach(ctx, c, zero, story.Options{RecordValues: true})
	})
	mux := http.NewServeMux()
	if p.shell == nil {
		return nil, errors.Join(errors.New("the page: the cluster has ended"), listener.Close())
	}
	mux.HandleFunc("GET /{$}", p.page)
	mux.Handle("GET /model", p.allowed(p.model))
	mux.Handle("POST /command", p.allowed(p.command))
	mux.Handle("GET /story", p.allowed(p.story))
	p.http = &http.Server{
		Handler: p.own(mux), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16,
		ErrorLog: log.New(io.Discard, "", 0), // clients that go away
	}
	go func() { p.ended <- p.http.Serve(listener) }()
	return p, nil
}

// URL returns the address with the token in its fragment, which a browser sends to no server.
func (p *livePage) URL() string { return "http://" + p.host + "/#token=" + p.token }

// Close ends it.
func (p *livePage) Close() error { return p.http.Close() }

// own refuses requests for another host, as those of a name that was made to lead here, and requests that pages of others make.
func (p *livePage) own(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", page.LivePolicy())
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		switch {
		case r.Host != p.host:
			http.Error(w, "this server has another name", http.StatusMisdirectedRequest)
		case origin != "" && origin != "http://"+p.host, site == "cross-site", site == "same-site":
			http.Error(w, "only the page of this server may ask it", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// allowed refuses requests without the token.
func (p *livePage) allowed(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(p.token)) != 1 {
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		next(w, r)
	})
}

func (p *livePage) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.WriteLive(w, "a served cluster") // the client has gone
}

// liveModel is the answer of GET /model.
type liveModel struct {
	// Records is the number of records that there are: a client that has so many gets no content.
	Records int       `json:"records"`
	Page    view.Page `json:"page"`
	// Actors and Machines are the names that commands take.
	Actors   []string `json:"actors"`
	Machines []string `json:"machines"`
}

// model answers with what has happened, unless the client knows it.
func (p *livePage) model(w http.ResponseWriter, r *http.Request) {
	var m liveModel
	have := r.URL.Query().Get("have")
	if !p.server.Do(func() {
		c := p.shell.Cluster()
		log := c.Engine().Trace()
		if m.Records = log.Len(); fmt.Sprint(m.Records) == have {
			return
		}
		m.Page = view.OfLog(log, view.Options{Title: "A served cluster", Start: p.zero, Told: p.told, Steps: liveSteps, Shorten: c.ShortIDs})
		m.Actors, m.Machines = c.Actors(), c.Machines()
	}) {
		http.Error(w, "the cluster has ended", http.StatusServiceUnavailable)
		return
	}
	if fmt.Sprint(m.Records) == have {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(m) // the client has gone
}

// liveCommand is the body of POST /command: a line of the story language with its input.
type liveCommand struct {
	Line  string `json:"line"`
	Input string `json:"input,omitempty"`
}

// liveAnswer is the answer: what the command printed, or why it was not played.
type liveAnswer struct {
	Output string `json:"output"`
	Error  string `json:"error,omitempty"`
}

// command plays a line between two steps of the cluster.
func (p *livePage) command(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" {
		http.Error(w, "expected application/json", http.StatusUnsupportedMediaType)
		return
	}
	var c liveCommand
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPost))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		http.Error(w, "not a command: "+err.Error(), http.StatusBadRequest)
		return
	}
	answer, ok := p.play(c)
	if !ok {
		http.Error(w, "the cluster has ended", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

// play plays a command, unless the cluster has ended.
func (p *livePage) play(c liveCommand) (answer liveAnswer, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var input []string
	if c.Input != "" {
		input = strings.Split(strings.TrimRight(strings.ReplaceAll(c.Input, "\r\n", "\n"), "\n"), "\n")
	}
	ok = p.server.Do(func() {
		var err error
		switch {
		case story.NeedsInput(c.Line) && input == nil:
			err = errors.New("this command needs input: write it below the line")
		default:
			answer.Output, err = p.shell.Do(c.Line, input...)
		}
		if err != nil {
			answer.Error = err.Error()
		}
	})
	return answer, ok
}

// story answers with the lines that were played, as a script.
func (p *livePage) story(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, p.first+p.shell.Script()) // the client has gone
}

// beginOf returns the lines of a story that make such a cluster and apply its manifests, as far as a story can say that.
func (o *serveOptions) beginOf(objects []manifest.Object) (string, error) {
	var b strings.Builder
	b.WriteString("# Lines of the page of a served cluster. What other clients wrote is not in it.\n")
	fmt.Fprintf(&b, "cluster nodes=%s provisioners=%s", strings.Join(o.nodes, ","), strings.Join(o.provisioners, ","))
	if len(o.named) > 0 {
		b.WriteString(" csi=" + o.named[0])
	}
	if o.standIns {
		b.WriteString(" stand-ins=yes")
	}
	b.WriteString("\n----\n\n")
	if len(objects) == 0 {
		return b.String(), nil
	}
	input, err := inputOf(objects)
	b.WriteString("apply\n" + strings.Join(input, "\n") + "\n----\n\n")
	return b.String(), err
}
