package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// situations returns the file of the page of all prepared situations.
func situations(t *testing.T) string {
	t.Helper()
	findChromium(t)
	cmd := exec.Command("go", "run", "./cmd/storagesim", "page", "all")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pages.html")
	if err := os.WriteFile(file, out, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAPageOfSeveralStoriesBeginsWithTheirList(t *testing.T) {
	b := open(t, situations(t), look{calm: true})
	b.is(`document.querySelectorAll(".contents li").length === 5`)
	b.click(`.contents a[href="#story=2"]`)
	b.afterLoad(`document.querySelector("h1").textContent === "A crash between them" && ` + place + ` === 1`)
	b.press(kb.ArrowRight)
	b.until(`/^#story=2&step=\d+$/.test(location.hash)`)
	b.click(".others")
	b.afterLoad(`document.querySelectorAll(".contents li").length === 5`)
	eval[string](b, `location.hash = "#story=4&step=100"`)
	b.afterLoad(`document.querySelector("h1").textContent === "A node dies" && ` + place + ` > 1`)
}

func TestANodeThatIsSwitchedOffHasNoMounts(t *testing.T) {
	b := open(t, situations(t), look{calm: true})
	const story = `JSON.parse(document.getElementById("story-4").textContent)`
	off := eval[int](b, story+`.steps.findLast((step) => step.off).n`)
	const mounts = `document.querySelectorAll('ul[aria-label="Mounts and directories of node-1"] .note').length`
	eval[string](b, fmt.Sprintf(`location.hash = "#story=4&step=%d"`, eval[int](b, story+`.steps.find((step) => step.off).n`)-1))
	b.afterLoad(mounts + " > 0")
	eval[string](b, fmt.Sprintf(`location.hash = "#story=4&step=%d"`, off))
	b.until(mounts + " === 0")
	b.is(`document.querySelector('.node-head[aria-label^="node node-1"]').textContent.includes("switched off")`)
}

// afterLoad waits for an expression to be true while the browser loads the page again, when there may be nothing to ask.
func (b *tab) afterLoad(expression string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, limit/2)
	defer stop()
	for ctx.Err() == nil {
		if is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!document.querySelector('h1') && ("+expression+")")); err == nil && is {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	b.t.Fatalf("%s never came true", expression)
}
