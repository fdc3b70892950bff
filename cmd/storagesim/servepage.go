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

	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
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
	token  string
	host   string // 127.0.0.1:PORT
	first  string // what a story of the page begins with
	// another makes a cluster that begins as the first one did.
	another func(io.Writer) (*offered, error)
	never   string // why it cannot go back to an earlier step
	told    int    // number of the first record that is shown
	looks   bool   // it only looks: no command is played

	mu  sync.Mutex   // held while a command is played
	run sync.RWMutex // guards now, which only the holder of mu changes
	now liveRun

	http  *http.Server
	ended chan error // has the reason why it listens no longer
}

// liveRun is a cluster of a page. Going back to an earlier step makes another.
type liveRun struct {
	*offered
	number int // from 1
	shell  *story.Shell
	follow *view.Follower
}

// show returns a run of the page: a cluster whose story is told from a record on.
func (p *livePage) show(c *offered, number int, shell *story.Shell) liveRun {
	return liveRun{offered: c, number: number, shell: shell, follow: view.Follow(c.Engine().Trace(), view.Options{
		Title: "A served cluster", Start: p.zero, Told: p.told, Steps: liveSteps, Shorten: c.Trace().ShortIDs,
	})}
}

// startPage offers the page of a served cluster on a free port of this machine, until Close. p says how.
func startPage(ctx context.Context, p *livePage, c *offered, o story.Options) (*livePage, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	p.token, p.host, p.ended = rand.Text(), listener.Addr().String(), make(chan error, 1)
	p.server.Do(func() {
		p.told = c.Engine().Trace().Len() - len(c.Trace().Records()) // the number of the first record of the story
		p.now = p.show(c, 1, story.Attach(ctx, c.Cluster, p.zero, o))
	})
	mux := http.NewServeMux()
	if p.now.shell == nil {
		return nil, errors.Join(errors.New("the page: the cluster has ended"), listener.Close())
	}
	mux.HandleFunc("GET /{$}", p.page)
	mux.Handle("GET /model", p.allowed(p.model))
	mux.Handle("POST /command", p.allowed(p.acting(p.command)))
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

// Close ends it, after the command that is being played.
func (p *livePage) Close() error {
	err := p.http.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	return err
}

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

// acting refuses commands if the page only looks.
func (p *livePage) acting(next http.HandlerFunc) http.HandlerFunc {
	if !p.looks {
		return next
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "this page only looks (--page-view); serve --page plays commands", http.StatusForbidden)
	}
}

func (p *livePage) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.WriteLive(w, "a served cluster") // the client has gone
}

// liveModel is the answer of GET /model: what has happened, or what has since an earlier answer.
type liveModel struct {
	// Version is for ?have= of the client's next request. Since is the version that the client had, if this goes on from there: then Lines has the new lines,
	// and Page what is new, see view.Follower.
	Version string   `json:"version"`
	Since   string   `json:"since,omitempty"`
	Run     int      `json:"run"`
	Lines   []string `json:"lines"`

	Page view.Page `json:"page"`
	// Actors and Machines are the names that commands take, Reads the commands that change nothing.
	Actors   []string `json:"actors"`
	Machines []string `json:"machines"`
	Reads    []string `json:"reads"`
	Back     liveBack `json:"back"`
	// Looks is set if the server plays no command.
	Looks bool `json:"looks,omitempty"`
}

// liveBack says from which steps a command may fork.
type liveBack struct {
	// From is the number of the first record after which it may.
	From int `json:"from"`
	// Never says why it may not at all.
	Never string `json:"never,omitempty"`
}

// model answers with what has happened, unless the client knows it.
func (p *livePage) model(w http.ResponseWriter, r *http.Request) {
	m, there := p.look(r.URL.Query().Get("have"))
	switch {
	case !there:
		http.Error(w, "the cluster has ended", http.StatusServiceUnavailable)
	case m == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m) // the client has gone
	}
}

// liveVersion says what a client has: of which run, how much of its page, how many lines, and whether it may fork.
type liveVersion struct {
	run   int
	page  view.Mark
	lines int
	forks bool
}

const versionFormat = "%d.%d.%d.%d.%d.%d.%t"

func (v liveVersion) String() string {
	return fmt.Sprintf(versionFormat, v.run, v.page.Turn, v.page.Steps, v.page.Objects, v.page.Base, v.lines, v.forks)
}

// versionOf reads a version; one that no server wrote is that of a client that has nothing.
func versionOf(text string) (v liveVersion) {
	if _, err := fmt.Sscanf(text, versionFormat, &v.run, &v.page.Turn, &v.page.Steps, &v.page.Objects, &v.page.Base, &v.lines, &v.forks); err != nil {
		return liveVersion{}
	}
	return v
}

// look returns what is new for a client that has a version, nil if nothing is, and whether the cluster is still there.
func (p *livePage) look(version string) (m *liveModel, there bool) {
	p.run.RLock()
	defer p.run.RUnlock()
	back := liveBack{From: p.now.shell.First(), Never: p.notBack()}
	have := versionOf(version)
	if have.run != p.now.number {
		have = liveVersion{}
	}
	there = p.server.Do(func() {
		c, lines := p.now.Cluster, p.now.shell.Lines()
		if have.lines < 0 || have.lines > len(lines) {
			have = liveVersion{}
		}
		news, mark, whole := p.now.follow.Since(have.page)
		now := liveVersion{p.now.number, mark, len(lines), back.Never == ""}
		if now == have {
			return
		}
		m = &liveModel{Version: now.String(), Run: now.run, Lines: lines, Back: back, Page: news, Actors: c.Engine().Actors(),
			Machines: c.Lab().Machines(), Reads: story.Reading(), Looks: p.looks}
		if !whole {
			m.Since, m.Lines = version, lines[have.lines:]
		}
	})
	return m, there
}

// notBack says why the cluster cannot go back to an earlier step; "" if it can.
func (p *livePage) notBack() string {
	if p.never != "" {
		return p.never
	}
	if request := p.server.Changed(); request != "" {
		return fmt.Sprintf("another client may have changed the cluster (%s), and the lines of this page do not have that",
			prose.Printable(bounded.Text(request, 200)))
	}
	return ""
}

// liveCommand is the body of POST /command: a line of the story language with its input.
type liveCommand struct {
	Line  string `json:"line"`
	Input string `json:"input,omitempty"`
	// From, if set, is the number of a record: the cluster goes back to where that was the last, and the line forks from there.
	From *int `json:"from,omitempty"`
	// Have is the version of the model that the client has: the answer brings a newer one, so that a click takes one request.
	Have string `json:"have,omitempty"`
}

// liveAnswer is the answer: what the command printed, or why it was not played.
type liveAnswer struct {
	Output string `json:"output"`
	Error  string `json:"error,omitempty"`
	// Model, if the command has Have and there is a newer one, is that.
	Model *liveModel `json:"model,omitempty"`
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
	if c.Have != "" {
		answer.Model, _ = p.look(c.Have)
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
	var err error
	switch ok = true; {
	case story.NeedsInput(c.Line) && input == nil:
		err = errors.New("this command needs input: write it below the line")
	case c.From != nil:
		answer.Output, err = p.fork(*c.From, c.Line, input)
	default:
		ok = p.server.Do(func() { answer.Output, err = p.now.shell.Do(c.Line, input...) })
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer, ok
}

// fork plays the lines again in another cluster up to where a record was the last, and then a line. Only if all of that works the
// other cluster takes the place of the present one.
func (p *livePage) fork(record int, line string, input []string) (output string, err error) {
	if why := p.notBack(); why != "" {
		return "", errors.New("cannot go back: " + why)
	}
	next, err := p.another(io.Discard)
	defer func() {
		if err != nil {
			err = next.end(err)
		}
	}()
	if err != nil {
		return "", err
	}
	if err := p.server.Prepare(next.Cluster); err != nil {
		return "", err
	}
	shell, err := p.now.shell.Fork(next.Cluster, record)
	if err != nil {
		return "", fmt.Errorf("cannot go back: %w", err)
	}
	if output, err = shell.Do(line, input...); err != nil {
		return "", err
	}
	p.run.Lock()
	defer p.run.Unlock()
	if err := p.server.Replace(next.Cluster, next.afterWrite); err != nil {
		return "", fmt.Errorf("cannot go back: %w", err)
	}
	old := p.now
	p.now = p.show(next, old.number+1, shell)
	_ = old.end(nil) // it tells of what went wrong
	return output, nil
}

// story answers with the lines that were played, as a script.
func (p *livePage) story(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, p.first+p.now.shell.Script()) // the client has gone
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
	if len(o.disks) > 0 {
		b.WriteString(" disk=" + strings.Join(o.disks, ","))
	}
	if o.diskSize != "" {
		b.WriteString(" disk-size=" + o.diskSize)
	}
	for _, e := range o.entrypoints {
		b.WriteString(" " + story.Quote("entrypoint="+e))
	}
	b.WriteString("\n----\n\n")
	if len(objects) == 0 {
		return b.String(), nil
	}
	input, err := inputOf(objects)
	b.WriteString("apply\n" + strings.Join(input, "\n") + "\n----\n\n")
	return b.String(), err
}
