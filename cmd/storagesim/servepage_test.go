package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		records := regexp.MustCompile(`^\{"records":(\d+),"page":\{"schema":"storagesim.page/v1"`).FindStringSubmatch(text)
		require.Len(t, records, 2, text[:min(200, len(text))])
		code, _, _ = ask(t, "GET", url+"/model?have="+records[1], "", bearer)
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
		require.True(t, strings.HasPrefix(text, "# Lines of the page of a served cluster. What other clients wrote is not in it.\ncluster nodes=node-1,node-2 provisioners=\n----\n\nget nodes\n----\nNAME"), text)
	}, "--page", "--kubeconfig", t.TempDir()+"/kubeconfig")
	require.NotContains(t, errOut, "error:")
}
