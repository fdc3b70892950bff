package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// limit ends a test whose page hangs.
const limit = 5 * time.Minute

// tab is a page in a browser of its own.
type tab struct {
	t    *testing.T
	ctx  context.Context
	once bool // the page has no JavaScript, so that nothing in it can still change

	mu       sync.Mutex
	troubles []string // what the console and the network should not have seen
}

// look says how a page is to be opened.
type look struct {
	hash          string // the fragment, "#step=7"
	width, height int64  // 1280 and 800 if 0
	dark, calm    bool   // the reader prefers dark colours, or no motion
	noScript      bool   // JavaScript is off
}

// findChromium returns the path of chromium. Without one the test fails, or is not run if the environment says so.
func findChromium(t *testing.T) string {
	t.Helper()
	if os.Getenv("STORAGESIM_NO_BROWSER") == "1" {
		t.Skip("NOT RUN: STORAGESIM_NO_BROWSER=1")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no chromium; install it (apt-get install chromium), or set STORAGESIM_NO_BROWSER=1")
	return ""
}

// starts is the number of times that a browser is started which ends before it answers. It has not seen the page then.
const starts = 3

// open opens a file in a fresh browser. When the test ends, the console must be free of errors and no request may have gone elsewhere.
func open(t *testing.T, file string, how look) *tab {
	t.Helper()
	return openURL(t, "file://"+file, how)
}

// openURL opens an address. Requests to its own server are no trouble.
func openURL(t *testing.T, url string, how look) *tab {
	t.Helper()
	chromium := findChromium(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.Env("TMPDIR="+scratch(t)))
	ctx, stop := context.WithTimeout(context.Background(), limit)
	t.Cleanup(stop)
	b := &tab{t: t, once: how.noScript}
	for try := 1; ; try++ {
		allocator, stop := chromedp.NewExecAllocator(ctx, options...)
		t.Cleanup(stop)
		b.ctx, stop = chromedp.NewContext(allocator, chromedp.WithListener(func(event any) { b.watch(url, event) }))
		t.Cleanup(stop)
		err := chromedp.Do(b.ctx)
		if err == nil {
			break
		}
		if try == starts || !strings.Contains(err.Error(), "chrome failed to start") {
			t.Fatal(err)
		}
		t.Logf("start %d of at most %d: %v", try, starts, err)
	}
	b.prepare(how)
	b.run(chromedp.Navigate(url + how.hash))
	t.Cleanup(b.check)
	return b
}

// scratch returns a directory for what a browser leaves behind when it is killed. It is not of T.TempDir: the last processes may still write there
// when it is removed, so that an error of that says nothing.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (b *tab) prepare(how look) {
	width, height := how.width, how.height
	if width == 0 {
		width, height = 1280, 800
	}
	scheme, motion := "light", "no-preference"
	if how.dark {
		scheme = "dark"
	}
	if how.calm {
		motion = "reduce"
	}
	b.run(chromedp.EmulateViewport(width, height))
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
	}})
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: how.noScript})
}

// call runs a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// watch notes errors, and requests for anything but the page itself.
func (b *tab) watch(url string, event any) {
	trouble := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		trouble = "an exception: " + fmt.Sprint(e.ExceptionDetails.Text, " ", description(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			trouble = fmt.Sprintf("the console says: %s", e.Args[0].Value)
		}
	case *network.EventRequestWillBeSent:
		asked, _, _ := strings.Cut(e.Request.URL, "#")
		if page, _, _ := strings.Cut(url, "#"); asked != page && !(strings.HasPrefix(page, "http://") && strings.HasPrefix(asked, page)) &&
			!strings.HasPrefix(asked, "blob:"+page) {
			trouble = "a request: " + e.Request.URL
		}
	}
	if trouble != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.troubles = append(b.troubles, trouble)
	}
}

func description(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return o.Description
}

func (b *tab) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, trouble := range b.troubles {
		b.t.Error(trouble)
	}
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns the value of an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(limit/2)))
	if err != nil {
		b.t.Fatalf("%s never came true: %v\n%s", expression, err,
			eval[string](b, "document.querySelector('.player')?.innerText ?? document.body.innerText.slice(0, 400)"))
	}
}

// patience is the number of milliseconds a page has for what it draws: much longer than a slow machine needs.
const patience = 60_000

// is fails the test unless an expression is true, or becomes true with one of the next pictures: the page draws the
// rows at the cursor only after the browser has told it of its scrolling. An exception counts as not yet.
func (b *tab) is(expression string) {
	b.t.Helper()
	if !b.once {
		expression = fmt.Sprintf(`new Promise((done) => {
			const start = performance.now();
			const look = () => {
				let ok = false;
				try { ok = !!(%s); } catch { /* not yet */ }
				if (ok || performance.now() - start > %d) done(ok); else requestAnimationFrame(look);
			};
			look();
		})`, expression, patience)
	}
	if !eval[bool](b, expression) {
		b.t.Errorf("%s is false", expression)
	}
}

func (b *tab) click(selector string) { b.t.Helper(); b.run(chromedp.Click(chromedp.CSS(selector))) }
func (b *tab) press(keys string)     { b.t.Helper(); b.run(chromedp.KeyEvent(keys)) }

// place is an expression: the number of the step at the cursor among those that are shown, from 1.
const place = `parseInt(document.querySelector(".place").textContent)`

// named returns the selector of a button by its name.
func named(name string) string { return fmt.Sprintf(`button[aria-label=%q]`, name) }

// root returns the path of the top of the repository.
func root(t testing.TB) string {
	t.Helper()
	top, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return top
}

var made sync.Map // by example: the function that makes its page once

// example returns the file of the page of an example.
func example(t *testing.T, name string) string {
	t.Helper()
	findChromium(t)
	make, _ := made.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		file := filepath.Join(pages, name+".html")
		cmd := exec.Command("go", "run", "./examples/"+name, "-html", file)
		cmd.Dir = root(t)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
		return file, nil
	}))
	file, err := make.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// model is a page's JSON.
type model = map[string]any

// withModel returns the file of a page that has other values.
func withModel(t *testing.T, change func(model)) string {
	t.Helper()
	text, err := os.ReadFile(example(t, "static-binding"))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), `<script type="application/json" id="story">`)
	data, after, ok2 := strings.Cut(rest, "</script>")
	if !ok || !ok2 {
		t.Fatal("the page has no JSON")
	}
	m := model{}
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	changed, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(before+`<script type="application/json" id="story">`+string(changed)+"</script>"+after), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// pages is the folder of the examples' pages.
var pages string

func TestMain(m *testing.M) {
	code, err := inFolder(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func inFolder(m *testing.M) (code int, err error) {
	pages, err = os.MkdirTemp("", "storagesim-pages-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(pages)) }()
	return m.Run(), nil
}
