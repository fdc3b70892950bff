package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mermaidScript returns mermaid itself, which npm has put beside the page's sources.
func mermaidScript(t *testing.T) string {
	t.Helper()
	findChromium(t)
	script, err := os.ReadFile(filepath.Join("..", "node_modules", "mermaid", "dist", "mermaid.min.js"))
	if err != nil {
		t.Fatalf("%v; run npm ci in view/page/web, or set STORAGESIM_NO_BROWSER=1", err)
	}
	return strings.ReplaceAll(string(script), "</script", `<\/script`)
}

// diagram returns what a command draws for mermaid.
func diagram(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"run", "./cmd/storagesim"}, args...)...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestMermaidDrawsTheDiagramsOfSituations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mermaid.html")
	if err := os.WriteFile(file, []byte("<!DOCTYPE html><meta charset=utf-8><body><script>"+mermaidScript(t)+"</script>"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := open(t, file, look{})
	b.is(`(mermaid.initialize({startOnLoad: false, maxTextSize: 5000}), true)`)
	for _, c := range []struct {
		args  []string
		words []string // which the picture must have
	}{
		{[]string{"page", "2", "-o", "mermaid"}, []string{"PV controller", "API server", "creates pvc default/data", "crashes before"}},
		{[]string{"page", "4", "-o", "mermaid"}, []string{"kubelet node-1", "disk.example.com"}},
		{[]string{"page", "5", "-o", "mermaid"}, []string{"kubelet node-2", "attach/detach"}},
		{[]string{"story", "view/page/web/browser/testdata/hostile.txt", "-o", "mermaid"}, []string{"metadata.annotations.x = <img src=x> %% end; Note"}},
	} {
		text, err := json.Marshal(diagram(t, c.args...))
		if err != nil {
			t.Fatal(err)
		}
		words, err := json.Marshal(c.words)
		if err != nil {
			t.Fatal(err)
		}
		missing := eval[string](b, `mermaid.render("d", `+string(text)+`).then(({svg}) => {
			document.body.innerHTML = svg;
			const words = document.body.textContent.replace(/\s+/g, " ");
			return `+string(words)+
			`.filter((w) => !words.includes(w)).join("; ") + [...document.querySelectorAll("img, script")].map((e) => " an element: " + e.outerHTML).join("");
		}, (e) => "mermaid refuses it: " + e)`)
		if missing != "" {
			t.Errorf("%s: %s", strings.Join(c.args, " "), missing)
		}
	}
}
