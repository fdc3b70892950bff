package browser

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
	findChromium(t)
	program, err := command()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"serve", "--page", "--kubeconfig", filepath.Join(t.TempDir(), "kubeconfig")}, args...)...)
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

func TestALivePageStepsAppliesBreaksAndAsksWhy(t *testing.T) {
	url, _ := served(t, "--nodes", "node-1", "--provisioners", "")
	b := openURL(t, url, look{calm: true})
	b.until(`!!document.querySelector(".live-panel")`)
	b.click(".live-more summary")
	eval[string](b, `document.querySelector(".live-yaml").value = `+"`apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 1Gi}}}`")
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
	for _, want := range []string{"cluster nodes=node-1 provisioners=\n", "\nstep\n----\n", "\ncrash persistent-volume-binder\n----\npersistent-volume-binder crashed\n", "\nsettle\n----\n", "\nexplain pvc/data\n----\n"} {
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

func TestAClickOnStepIsSeenAtOnce(t *testing.T) {
	url, _ := served(t, "-f", "examples/static-binding/nfs-pv.yaml", "-f", "examples/static-binding/nfs-pvc.yaml")
	b := openURL(t, url, look{calm: true})
	b.until(`!!document.querySelector(".live-panel")`)
	ms := eval[float64](b, `(async () => {
		const step = [...document.querySelectorAll(".live-panel button")].find((b) => b.textContent === "Step");
		const times = [];
		for (let i = 0; i < 30; i++) {
			const lines = document.querySelectorAll(".live-lines li").length;
			const begin = performance.now();
			step.click();
			while (document.querySelectorAll(".live-lines li").length === lines) await new Promise((done) => setTimeout(done, 1));
			times.push(performance.now() - begin);
		}
		return times.sort((a, b) => a - b)[15];
	})()`)
	t.Logf("a step takes %.1f ms until the page has drawn it", ms)
	b.is(`document.querySelectorAll(".live-lines li").length === 30`)
}

func TestAPageWhoseServerIsGoneSaysSo(t *testing.T) {
	url, stop := served(t)
	b := openURL(t, url, look{calm: true})
	b.until(`!!document.querySelector(".live-panel")`)
	b.is(`document.querySelector(".banner").hidden`)
	stop()
	b.until(`document.querySelector(".banner").textContent.includes("does not answer")`)
}

func TestAWrongTokenGetsNothing(t *testing.T) {
	url, _ := served(t)
	address, _, _ := strings.Cut(url, "#")
	b := openURL(t, address+"#token=wrong", look{calm: true})
	b.until(`document.querySelector(".banner").textContent.includes("token")`)
	b.is(`!document.querySelector(".live-panel")`)
}
