package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var command = sync.OnceValues(func() (string, error) {
	file := filepath.Join(pages, "storagesim")
	top, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", file, "./cmd/storagesim")
	cmd.Dir = top
	cmd.Stderr = os.Stderr
	return file, cmd.Run()
})

// served runs storagesim serve --page and returns the page's address, and a function that ends it.
func served(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	return servedWith(t, append([]string{"--page"}, args...)...)
}

func servedWith(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	findChromium(t)
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"serve", "--kubeconfig", filepath.Join(t.TempDir(), "kubeconfig")}, args...)...)
	cmd.Dir = root(t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // it exits with the code of an interrupt
	})
	t.Cleanup(stop)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "# page: "); ok {
			return address, stop
		}
	}
	t.Fatal("serve printed no address of a page")
	return "", stop
}

// last is an expression: the number of steps in the page.
const last = `Number(document.querySelector("input[type=range]").max)`

// On a telephone the answer to a line was below the buttons, out of sight: it seemed that nothing had happened.
func TestTheAnswerToALineIsInSightWithAllButtonsOpen(t *testing.T) {
	url, _ := served(t, "--nodes", "node-1", "--provisioners", "")
	b := openURL(t, url, look{calm: true, width: 390, height: 844})
	b.until(`!!document.querySelector(".live-panel")`)
	b.click(".live-more summary")
	eval[bool](b, `(document.querySelector(".live-line").value = "frobnicate", document.querySelector(".live-line").focus(), true)`)
	b.press("\r")
	b.until(`document.querySelector(".live-said.bad") !== null`)
	b.is(`(() => {
		const said = document.querySelector(".live-said"), box = said.getBoundingClientRect();
		const panel = document.querySelector(".live-panel").getBoundingClientRect();
		return box.top > panel.top && box.bottom <= panel.bottom + 1 && document.elementFromPoint(box.x + 30, box.y + 10) === said;
	})()`)
}

func TestALivePageStepsAppliesBreaksAndAsksWhy(t *testing.T) {
	url, _ := served(t, "--nodes", "node-1", "--provisioners", "")
	b := openURL(t, url, look{calm: true})
	b.until(`!!document.querySelector(".live-panel")`)
	b.click(".live-more summary")
	eval[string](b, `document.querySelector(".live-yaml").value = `+"`apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"+
		"spec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 1Gi}}}`")
	eval[bool](b, `([...document.querySelectorAll(".live-panel button")].find((b) => b.textContent === "Apply").click(), true)`)
	b.until(`document.querySelector(".live-said").textContent.includes("persistentvolumeclaim/data created")`)
	b.until(`[...document.querySelectorAll(".card.o-pvc")].some((card) => card.textContent.includes("data"))`)
	const press = `[...document.querySelectorAll(".live-panel button")].find((b) => b.textContent === "%s").click()`
	pressed := func(name string) { eval[bool](b, "("+strings.Replace(press, "%s", name, 1)+", true)") }
	pressed("Step")
	b.until(`document.querySelectorAll(".live-lines li").length === 2`)
	eval[bool](b, `(document.querySelector('select[aria-label="Actor"]').value = "persistent-volume-binder", true)`)
	pressed("Crash")
	b.until(`document.querySelector(".live-said").textContent.includes("persistent-volume-binder crashed")`)
	pressed("Settle")
	b.until(`[...document.querySelectorAll(".row")].some((row) => row.textContent.includes("FailedBinding"))`)
	b.until(place + " - 1 === " + last) // the cursor follows
	b.click(".card.o-pvc")
	eval[bool](b, `(document.querySelector(".live-line").value = "run-for 1m", document.querySelector(".live-line").focus(), true)`)
	b.press("\r")
	b.until(`document.querySelectorAll(".live-lines li").length === 5`)
	b.is(`document.querySelector(".card.focus").textContent.includes("data")`)
	b.press(kb.Escape)
	eval[bool](b, `(document.querySelector('select[aria-label="Object"]').value = "pvc/data", true)`)
	pressed("Why?")
	b.until(`document.querySelector(".live-said").textContent.includes("pvc default/data is Pending")`)
	eval[bool](b, `(document.querySelector(".live-line").focus(), document.querySelector(".live-line").value = "get nosuch", true)`)
	b.press("\r")
	b.until(`document.querySelector(".live-said").textContent.includes("nosuch")`)
	eval[bool](b, `(document.querySelector(".live-line").value = "crash nobody", true)`)
	b.press("\r")
	b.until(`document.querySelector(".live-said.bad") !== null`)
	story := eval[string](b, `fetch("/story", {headers: {Authorization: "Bearer " + location.hash.match(/token=(\w+)/)[1]}}).then((a) => a.text())`)
	for _, want := range []string{"cluster nodes=node-1 provisioners=\n", "\nstep\n----\n",
		"\ncrash persistent-volume-binder\n----\npersistent-volume-binder crashed\n", "\nsettle\n----\n", "\nexplain pvc/data\n----\n"} {
		if !strings.Contains(story, want) {
			t.Errorf("the story has no %q:\n%s", want, story)
		}
	}
	if strings.Contains(story, "crash nobody") {
		t.Error("a line that was not played is in the story")
	}
	file := filepath.Join(t.TempDir(), "story.txt")
	if err := os.WriteFile(file, []byte(story), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "story", file).CombinedOutput(); err != nil || !strings.Contains(string(out), "persistent-volume-binder  starts again") {
		t.Errorf("the story does not play: %v\n%s", err, out)
	}
}

// pair is a volume and a claim that bind.
const pair = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: " +
	"{path: /disk}}\n---\n" +
	"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: " +
	"{requests: {storage: 1Gi}}}"

// A class crashes the controller between its two pointers, goes back, and lets it live.
func TestALineAtAnEarlierStepForks(t *testing.T) {
	url, _ := served(t, "--nodes", "node-1", "--provisioners", "")
	b := openURL(t, url, look{calm: true})
	b.until(`!!document.querySelector(".live-panel")`)
	b.click(".live-more summary")
	press := func(name string) {
		eval[bool](b, fmt.Sprintf(`([...document.querySelectorAll(".live-panel button")].find((b) => b.textContent === %q).click(), true)`, name))
	}
	line := func(text string) {
		eval[bool](b, fmt.Sprintf(`(document.querySelector(".live-line").value = %q, document.querySelector(".live-line").focus(), true)`, text))
		b.press("\r")
	}
	lines := func(want ...string) {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		b.until(fmt.Sprintf(`JSON.stringify([...document.querySelectorAll(".live-lines li")].map((li) => li.textContent)) === %q`, text))
	}
	const offered = `!document.querySelector(".live-offer").hidden`
	eval[string](b, fmt.Sprintf(`document.querySelector(".live-yaml").value = %q`, pair))
	press("Apply")
	lines("apply")
	b.is("!(" + offered + ")")
	line("crash persistent-volume-binder before update persistentvolumeclaims data")
	press("Settle")
	lines("apply", "crash persistent-volume-binder before update persistentvolumeclaims data", "settle")
	const pointed = `[...document.querySelectorAll(".row")].some((row) => row.textContent.includes("crashes before"))`
	b.until(pointed)

	const created = `document.querySelector(".sentence").textContent.includes("creates pvc default/data")`
	eval[bool](b, `(document.activeElement.blur(), true)`)
	for range 20 {
		if eval[bool](b, created) {
			break
		}
		b.press(kb.ArrowLeft)
	}
	b.is(created)
	line("get pvc") // which only looks
	b.until(`document.querySelector(".live-said").textContent.includes("disk")`)
	b.is("!(" + offered + ")")
	press("Settle")
	b.until(offered)
	b.is(`document.activeElement.textContent === "From here: forks" && /^settle at step \d+ of \d+:/.test(document.querySelector(".live-offer").textContent)`)
	shot(b, "fork")
	b.press(kb.Escape)
	b.until("!(" + offered + ")")
	press("Settle")
	b.until(offered)
	b.press("\r") // on the button, which has the focus
	lines("apply", "settle")
	b.until("!(" + pointed + ")")
	b.until(place + " - 1 === " + last)
	b.is(`[...document.querySelectorAll(".card.o-pvc")].some((card) => card.textContent.includes("Bound"))`)

	eval[bool](b, `(document.activeElement.blur(), true)`)
	b.press(kb.Home)
	press("Step")
	b.until(offered)
	b.is(`document.querySelector(".live-never").textContent.includes("before this page's first line") && document.querySelector(".live-offer button").disabled`)
	press("At the newest step")
	lines("apply", "settle", "step")
	b.until(place + " - 1 === " + last)
}

// The page adds what a line brings to what it has drawn. It is then the same page as one that is opened after all lines.
func TestAPageThatGrewIsThatWhichIsOpenedAnew(t *testing.T) {
	url, _ := served(t, "--nodes", "node-1", "-f", "examples/static-binding/nfs-pv.yaml", "-f", "examples/static-binding/nfs-pvc.yaml")
	tall := look{calm: true, width: 1280, height: 3000} // all rows are in sight
	b := openURL(t, url, tall)
	b.until(`!!document.querySelector(".live-panel")`)
	n := 0
	do := func(line string) {
		n++
		eval[bool](b, fmt.Sprintf(`(document.querySelector(".live-line").value = %q, document.querySelector(".live-line").focus(), true)`, line))
		b.press("\r")
		b.until(fmt.Sprintf(`document.querySelectorAll(".live-lines li").length === %d`, n))
	}
	for range 5 {
		do("step")
	}
	do("settle")
	do("crash kubelet/node-1")
	do("run-for 5m")
	eval[bool](b, `(kept = document.querySelector(".row.current"), true)`)
	do("crash kubelet/node-1") // whose lane is there
	b.is(`document.contains(kept) && !kept.classList.contains("current")`)
	do("run-for 5m")
	eval[bool](b, `(document.activeElement.blur(), true)`)
	b.press(kb.End)
	b.until(place + " - 1 === " + last)

	const shown = `JSON.stringify([[...document.querySelectorAll("[data-row]")].sort((a, b) => a.dataset.row - b.dataset.row).map((row) => [row.dataset.row,
  row.style.top, row.className, row.textContent]),
		...[".cards", ".detail-body", ".lanes-head", ".player .place", ".about", ".live-lines"].map((part) => document.querySelector(part).textContent)])`
	other := openURL(t, url, tall)
	other.until(`!!document.querySelector(".live-panel")`)
	other.until(place + " - 1 === " + last)
	b.is(fmt.Sprintf("%s === %q", shown, eval[string](other, shown)))
	b.is(`document.querySelectorAll("[data-row]").length > 10`)
}

// What another client has done is in no line.
func TestALineDoesNotForkWhenAnotherClientHasWritten(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	url, _ := served(t, "--nodes", "node-1", "--provisioners", "", "--kubeconfig", config)
	b := openURL(t, url, look{calm: true})
	b.until(`!!document.querySelector(".live-panel")`)
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, err := exec.Command(program, "run-for", "10m", "--kubeconfig", config).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	b.press(kb.Home)
	b.until(place + " - 1 < " + last)
	eval[bool](b, `([...document.querySelectorAll(".live-panel button")].find((b) => b.textContent === "Step").click(), true)`)
	b.until(`!!document.querySelector(".live-never")?.textContent.includes("another client may have changed the cluster (POST /storagesim/run-for)")`)
	shot(b, "no-fork")
}

// shot keeps a picture of the page, if a folder for them is given.
func shot(b *tab, name string) {
	b.t.Helper()
	folder := os.Getenv("STORAGESIM_SHOTS")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), small(b.t, picture), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func TestAPageWhoseServerIsGoneSaysSo(t *testing.T) {
	url, stop := served(t)
	b := openURL(t, url, look{calm: true})
	b.until(`!!document.querySelector(".live-panel")`)
	b.is(`document.querySelector(".banner").hidden`)
	stop()
	b.until(`document.querySelector(".banner").textContent.includes("does not answer")`)
}

func TestAPageThatOnlyLooksHasNoButtonsThatAct(t *testing.T) {
	findChromium(t)
	config := filepath.Join(t.TempDir(), "config")
	url, _ := servedWith(t, "--page-view", "--speed", "step", "-f", "examples/static-binding/nfs-pv.yaml", "-f", "examples/static-binding/nfs-pvc.yaml",
		"--kubeconfig", config)
	b := openURL(t, url, look{calm: true})
	b.until(`document.querySelectorAll(".row").length > 0`)
	b.is(`!document.querySelector(".live-panel") && document.querySelector(".banner").hidden`)
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	eval[bool](b, `(had = document.querySelector(".about").textContent, true)`)
	if out, err := exec.Command(program, "run-for", "10m", "--kubeconfig", config).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.until(`document.querySelector(".about").textContent !== had`) // it follows what others do
	shot(b, "looks")
}

func TestAWrongTokenGetsNothing(t *testing.T) {
	url, _ := served(t)
	address, _, _ := strings.Cut(url, "#")
	b := openURL(t, address+"#token=wrong", look{calm: true})
	b.until(`document.querySelector(".banner").textContent.includes("token")`)
	b.is(`!document.querySelector(".live-panel")`)
}
