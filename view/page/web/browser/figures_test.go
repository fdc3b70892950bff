package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// These tests print the times of docs/benchmarks.md. They set no limit to them, since machines differ.

const (
	// firstPicture is the time from the beginning until the script has drawn the story, in ms. The page's table may have been painted before that.
	firstPicture = `new Promise((done) => {
		const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
		const drawn = performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd;
		requestAnimationFrame(() => done(Math.max(paint, drawn)));
	})`
	// stepTime is the time from a key until the picture has changed, in ms, the middle of 15.
	stepTime = `(async () => {
		const times = [];
		for (let i = 0; i < 15; i++) {
			const begin = performance.now();
			dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "ArrowRight" : "ArrowLeft" }));
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			times.push(performance.now() - begin);
		}
		return times.sort((a, b) => a - b)[7];
	})()`
	// clickTime is the time from a click on Step until the picture has changed, in ms, the middle of 15.
	clickTime = `(async () => {
		const step = [...document.querySelectorAll(".live-panel button")].find((b) => b.textContent === "Step");
		const times = [];
		for (let i = 0; i < 15; i++) {
			const lines = document.querySelectorAll(".live-lines li").length;
			const begin = performance.now();
			step.click();
			while (document.querySelectorAll(".live-lines li").length === lines) await new Promise((done) => setTimeout(done));
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			times.push(performance.now() - begin);
		}
		return times.sort((a, b) => a - b)[7];
	})()`
)

func TestFiguresOfTheMainStorysPage(t *testing.T) {
	file := example(t, "openebs-hostpath")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, file, look{calm: true})
	b.is(`document.querySelectorAll(".row").length > 10`)
	t.Logf("the main story: %.0f kB, %.0f ms to the first picture, %.1f ms from a key to the picture", float64(info.Size())/1000, eval[float64](b, firstPicture),
		eval[float64](b, stepTime))
	if info.Size() > 400_000 {
		t.Errorf("the page has %d bytes, and may have 400,000", info.Size())
	}
}

func TestFiguresOfAServedCluster(t *testing.T) {
	url, _ := served(t, "-f", "examples/static-binding/nfs-pv.yaml", "-f", "examples/static-binding/nfs-pvc.yaml")
	b := openURL(t, url, look{calm: true})
	b.until(`!!document.querySelector(".live-panel")`)
	t.Logf("a step of a served cluster: %.1f ms from the click to the picture", eval[float64](b, clickTime))
	b.is(`document.querySelectorAll(".live-lines li").length === 15`)

	var more strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&more, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d}}\n", i)
	}
	b.click(".live-more summary")
	eval[bool](b, fmt.Sprintf(`(document.querySelector(".live-yaml").value = %q, [...document.querySelectorAll(".live-panel button")].find((b) => b.textContent `+
		`=== "Apply").click(), true)`, more.String()))
	b.until(`document.querySelectorAll(".live-lines li").length === 16`)
	t.Logf("with 5,000 records: %.1f ms", eval[float64](b, clickTime))
	b.is(`document.querySelectorAll(".live-lines li").length === 31`)
}
