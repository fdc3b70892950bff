package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// ask sends a request to a page and returns the answer's code and body.
func ask(t *testing.T, method, url, body string, header map[string]string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text), answer.Header
}

func TestOnlyThePageOfAServedClusterMayAskItsServer(t *testing.T) {
	_, errOut := served(t, func(out string) {
		found := regexp.MustCompile(`# page: (http://127\.0\.0\.1:\d+)/#token=(\w{26})\n`).FindStringSubmatch(out)
		require.Len(t, found, 3, out)
		url, token := found[1], found[2]
		bearer := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
		with := func(more ...string) map[string]string {
			h := map[string]string{}
			for name, value := range bearer {
				h[name] = value
			}
			for i := 0; i < len(more); i += 2 {
				h[more[i]] = more[i+1]
			}
			return h
		}
		code, text, header := ask(t, "GET", url+"/", "", nil)
		require.Equal(t, 200, code)
		require.NotContains(t, text, token)
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'sha256-")
		require.Contains(t, header.Get("Content-Security-Policy"), "connect-src 'self'")
		require.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.Equal(t, "no-store", header.Get("Cache-Control"))

		const nodes = `{"line":"get nodes"}`
		code, text, _ = ask(t, "POST", url+"/command", nodes, bearer)
		require.Equal(t, 200, code, text)
		require.Contains(t, text, "node-1")
		code, text, _ = ask(t, "GET", url+"/model?have=-1", "", bearer)
		require.Equal(t, 200, code)
		known := regexp.MustCompile(`^\{"version":"([\w.]+)","run":1,"lines":\["get nodes"\],"page":\{"schema":"storagesim.page/v1"`).FindStringSubmatch(text)
		require.Len(t, known, 2, text[:min(200, len(text))])
		code, _, _ = ask(t, "GET", url+"/model?have="+known[1], "", bearer)
		require.Equal(t, 204, code)

		for name, c := range map[string]struct {
			method, path, body string
			header             map[string]string
			code               int
		}{
			"no token":           {"GET", "/model", "", nil, 401},
			"a wrong token":      {"POST", "/command", nodes, with("Authorization", "Bearer "+strings.Repeat("A", 26)), 401},
			"another scheme":     {"GET", "/story", "", with("Authorization", token), 401},
			"another host":       {"GET", "/model", "", with("Host", "example.com"), 421},
			"another port":       {"GET", "/", "", map[string]string{"Host": "127.0.0.1:1"}, 421},
			"another origin":     {"POST", "/command", nodes, with("Origin", "https://example.com"), 403},
			"no origin":          {"POST", "/command", nodes, with("Origin", "null"), 403},
			"a page elsewhere":   {"GET", "/model", "", with("Sec-Fetch-Site", "cross-site"), 403},
			"a form":             {"POST", "/command", "line=get+nodes", with("Content-Type", "application/x-www-form-urlencoded"), 415},
			"no JSON":            {"POST", "/command", "{", bearer, 400},
			"an unknown field":   {"POST", "/command", `{"line":"step","shell":"x"}`, bearer, 400},
			"too much":           {"POST", "/command", `{"line":"` + strings.Repeat("a", maxPost) + `"}`, bearer, 400},
			"another method":     {"GET", "/command", "", bearer, 405},
			"a path of the API":  {"GET", "/api/v1/pods", "", bearer, 404},
			"a path of a folder": {"GET", "/../etc/passwd", "", bearer, 404},
		} {
			code, text, _ := ask(t, c.method, url+c.path, c.body, c.header)
			require.Equal(t, c.code, code, "%s: %s", name, text)
			require.NotContains(t, text, "node-1", name)
		}
		for body, want := range map[string]string{
			`{"line":"apply -f /etc/passwd"}`:    "no files are read here; give what is in /etc/passwd as input",
			`{"line":"apply"}`:                   "this command needs input",
			`{"line":"get nodes\nget pods"}`:     "a command is one line",
			`{"line":"apply","input":"a\n----"}`: "no line of its input is ----",
			`{"line":"nothing"}`:                 `unknown command \"nothing\"`,
			`{"line":"cluster nodes=a"}`:         "there is a cluster already",
			`{"line":"back 3"}`:                  `unknown command \"back\"`,
		} {
			code, text, _ := ask(t, "POST", url+"/command", body, bearer)
			require.Equal(t, 200, code, body)
			require.Contains(t, text, want, body)
		}
		code, text, _ = ask(t, "GET", url+"/story", "", bearer)
		require.Equal(t, 200, code)
		require.True(t, strings.HasPrefix(text, "# Lines of the page of a served cluster. What other clients wrote is not in it.\n"+
			"cluster nodes=node-1,node-2 provisioners= disk-size=1Gi\n----\n\nget nodes\n----\nNAME"), text)
	}, "--page", "--disk-size", "1Gi", "--kubeconfig", t.TempDir()+"/kubeconfig")
	require.NotContains(t, errOut, "error:")
}

// visited is the page of a served cluster, as its script sees it.
type visited struct {
	t          *testing.T
	url        string
	header     map[string]string
	kubeconfig string
}

// visit runs serve --page while f visits the page.
func visit(t *testing.T, f func(p visited), args ...string) {
	visitPage(t, f, append([]string{"--page"}, args...)...)
}

func visitPage(t *testing.T, f func(p visited), args ...string) {
	t.Helper()
	p := visited{t: t, kubeconfig: t.TempDir() + "/kubeconfig"}
	_, errOut := served(t, func(out string) {
		found := regexp.MustCompile(`# page: (http://127\.0\.0\.1:\d+)/#token=(\w{26})\n`).FindStringSubmatch(out)
		require.Len(t, found, 3, out)
		p.url, p.header = found[1], map[string]string{"Authorization": "Bearer " + found[2], "Content-Type": "application/json"}
		f(p)
	}, append([]string{"--kubeconfig", p.kubeconfig}, args...)...)
	require.NotContains(t, errOut, "error:")
}

// model returns what the page shows.
func (p visited) model() (m liveModel) {
	code, text, _ := ask(p.t, "GET", p.url+"/model?have=", "", p.header)
	require.Equal(p.t, 200, code, text)
	require.NoError(p.t, json.Unmarshal([]byte(text), &m))
	return m
}

// post plays a command.
func (p visited) post(c liveCommand) (a liveAnswer) {
	body, err := json.Marshal(c)
	require.NoError(p.t, err)
	code, text, _ := ask(p.t, "POST", p.url+"/command", string(body), p.header)
	require.Equal(p.t, 200, code, text)
	require.NoError(p.t, json.Unmarshal([]byte(text), &a))
	return a
}

func (p visited) client() kubernetes.Interface {
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	require.NoError(p.t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(p.t, err)
	return client
}

// recordOf returns the number of the first record whose sentence has a text.
func recordOf(t *testing.T, m liveModel, text string) int {
	t.Helper()
	for _, s := range m.Page.Steps {
		if strings.Contains(s.Text, text) {
			return s.N
		}
	}
	t.Fatalf("no record has %q", text)
	return 0
}

// lastRecord returns the number of the last record that is shown.
func lastRecord(m liveModel) int { return m.Page.Steps[len(m.Page.Steps)-1].N }

// with returns the model of a page that had one and got another.
func (m liveModel) with(news liveModel) liveModel {
	if news.Since == "" {
		return news
	}
	p := news.Page
	p.Lanes, p.Missing = m.Page.Lanes, m.Page.Missing
	p.Steps, p.Objects, p.Base = slices.Concat(m.Page.Steps, p.Steps), slices.Concat(m.Page.Objects, p.Objects), slices.Concat(m.Page.Base, p.Base)
	news.Page, news.Lines, news.Since = p, slices.Concat(m.Lines, news.Lines), ""
	return news
}

const claimAndVolume = `apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /disk}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
`

// The PV controller crashes between its writes; then the page goes back and lets it live.
func TestACommandAtAnEarlierStepForksTheServedCluster(t *testing.T) {
	visit(t, func(p visited) {
		require.Empty(t, p.post(liveCommand{Line: "apply", Input: claimAndVolume}).Error)
		require.Empty(t, p.post(liveCommand{Line: "crash persistent-volume-binder before update persistentvolumeclaims data"}).Error)
		had := p.model()
		settled := p.post(liveCommand{Line: "settle", Have: had.Version})
		require.Contains(t, settled.Output, "crashe")
		require.Equal(t, p.model(), had.with(*settled.Model), "the answer has what is new")
		require.Nil(t, p.post(liveCommand{Line: "nothing", Have: settled.Model.Version}).Model, "and nothing if nothing is")
		before := p.model()
		require.Equal(t, 1, before.Run)
		require.Empty(t, before.Back.Never)
		require.Contains(t, before.Reads, "explain")
		client := p.client()
		volume, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "disk", metav1.GetOptions{})
		require.NoError(t, err)
		w, err := client.CoreV1().PersistentVolumeClaims("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: volume.ResourceVersion})
		require.NoError(t, err)

		at := recordOf(t, before, "creates pvc default/data")
		if at < before.Back.From {
			t.Fatal("the page begins too late")
		}
		answer := p.post(liveCommand{Line: "settle", From: &at})
		require.Empty(t, answer.Error)
		require.NotContains(t, answer.Output, "crashe")
		after := p.model()
		require.Equal(t, 2, after.Run)
		require.Equal(t, []string{"apply", "settle"}, after.Lines)
		for i, s := range after.Page.Steps {
			if s.N > at {
				break
			}
			require.Equal(t, before.Page.Steps[i], s)
		}
		again, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "disk", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, volume.UID, again.UID)
		require.Equal(t, v1.VolumeBound, again.Status.Phase)
		for event := range w.ResultChan() {
			if event.Type == watch.Error {
				require.True(t, apierrors.IsResourceExpired(apierrors.FromObject(event.Object)))
				break
			}
		}

		for from, want := range map[int]string{-1: "expected one from", after.Back.From - 1: "expected one from", lastRecord(after) + 1: "expected one from"} {
			require.Contains(t, p.post(liveCommand{Line: "settle", From: &from}).Error, want)
		}
		require.Contains(t, p.post(liveCommand{Line: "sett", From: &at}).Error, "unknown command")
		require.Equal(t, lastRecord(after), lastRecord(p.model()), "what cannot be played changes nothing")

		_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "more"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		const why = "another client may have changed the cluster (POST /api/v1/namespaces/default/configmaps), and the lines of this page do not have that"
		require.Equal(t, why, p.model().Back.Never)
		require.Equal(t, "cannot go back: "+why, p.post(liveCommand{Line: "settle", From: &at}).Error)
		require.Empty(t, p.post(liveCommand{Line: "settle"}).Error)
	}, "-f", "../../examples/static-binding/nfs-pv.yaml")
}

func TestAPageThatOnlyLooksPlaysNoCommand(t *testing.T) {
	visitPage(t, func(p visited) {
		require.True(t, p.model().Looks)
		require.NotEmpty(t, p.model().Page.Steps)
		code, text, _ := ask(t, "POST", p.url+"/command", `{"line":"get nodes"}`, p.header)
		require.Equal(t, http.StatusForbidden, code)
		require.Contains(t, text, "this page only looks (--page-view)")
		require.Empty(t, p.model().Lines)
	}, "--page-view", "--speed", "step")
	code, _, errOut := command(t, "", "serve", "--page", "--page-view")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, "--page-view: a page that only looks; leave --page out")
}

// However long the story is, a step brings what it adds.
func TestAStepBringsOnlyWhatIsNewToThePage(t *testing.T) {
	visit(t, func(p visited) {
		var many strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&many, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d}}\n", i)
		}
		require.Empty(t, p.post(liveCommand{Line: "apply", Input: many.String()}).Error)
		m := p.model()
		require.Greater(t, len(m.Page.Steps), 1000)
		require.Empty(t, m.Since)
		sent, size := 0, 0
		const steps = 30
		for range steps {
			answer := p.post(liveCommand{Line: "step", Have: m.Version})
			require.Empty(t, answer.Error)
			require.Equal(t, m.Version, answer.Model.Since)
			require.Equal(t, []string{"step"}, answer.Model.Lines)
			text, err := json.Marshal(answer)
			require.NoError(t, err)
			sent, size = sent+len(answer.Model.Page.Steps), size+len(text)
			m = m.with(*answer.Model)
		}
		require.Equal(t, p.model(), m)
		require.LessOrEqual(t, sent, 4*steps, "steps of the story that were sent")
		require.Less(t, size, 4000*steps, "bytes")
		for _, have := range []string{"", "x", "1.1.-1.0.0.0.true", "1.1.99999.0.0.0.true", "1.1.0.0.0.-1.true", "1.1.0.0.0.99.true",
			"2" + strings.TrimPrefix(m.Version, "1")} {
			_, text, _ := ask(t, "GET", p.url+"/model?have="+have, "", p.header)
			var whole liveModel
			require.NoError(t, json.Unmarshal([]byte(text), &whole), have)
			require.Equal(t, m, whole, "a version that no answer had: %q", have)
		}
	})
}

func TestAPageOfAClusterThatCannotBePlayedAgainSaysWhy(t *testing.T) {
	visit(t, func(p visited) {
		from := lastRecord(p.model())
		const why = "time goes by itself here (--speed 60x), and such a run cannot be played again; with --speed step it can"
		require.Equal(t, why, p.model().Back.Never)
		require.Equal(t, "cannot go back: "+why, p.post(liveCommand{Line: "step", From: &from}).Error)
	}, "--speed", "60x")
	o := serveOptions{speed: "step"}
	require.Empty(t, o.neverBack())
	o.csi = []string{"unix:///driver.sock"}
	require.Contains(t, o.neverBack(), "a CSI driver here runs in a process of its own")
	o = serveOptions{speed: "step"}
	o.realMounts = true
	require.Contains(t, o.neverBack(), "--real-mounts")
}
