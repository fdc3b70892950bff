package apiserver

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/conformance/requests"
)

// RecordSubresources sends random requests to the real server about what is beside objects and collections: in turn evictions, bindings, tokens, parts
// of pods, scales, parts of namespaces, methods and paths of all kinds, and tables. It returns the requests with their answers.
func RecordSubresources(real *Real, runs, length int, options Options) ([]requests.Request, error) {
	r, c, list, err := recordWidgets(real, Options{})
	if err != nil {
		return nil, err
	}
	r.discovery(c)
	for run := range runs {
		theme := themes[run%len(themes)]
		if len(options.Kinds) > 0 {
			theme = theme.among(options.Kinds)
		}
		if theme.play == nil {
			continue
		}
		namespace := fmt.Sprintf("s%d", run)
		q := &parts{collection: collection{
			recorder: r, section: fmt.Sprintf("%s %d", theme.name, run), prefix: namespace + "-",
			rand: rand.New(rand.NewPCG(options.Seed, uint64(run))), path: "/api/v1/namespaces/" + namespace + "/", whole: theme.whole,
		}, catalogue: c, subjects: list, namespace: namespace}
		q.post("namespace", "/api/v1/namespaces", `{"metadata":{"name":"`+namespace+`"}}`)
		theme.play(q, length)
	}
	return r.list, nil
}

// theme is the subject of a run of requests.
type theme struct {
	name  string
	play  func(q *parts, length int)
	whole bool // managedFields and versions are compared, too
}

// among returns the theme if its name is one of names, and else nothing.
func (t theme) among(names []string) theme {
	for _, name := range names {
		if name == t.name {
			return t
		}
	}
	return theme{}
}

var themes = []theme{
	{"evictions", (*parts).evictions, true},
	{"bindings", (*parts).bindings, true},
	{"tokens", (*parts).tokens, true},
	{"pods", (*parts).pods, true},
	{"scales", (*parts).scales, true},
	{"namespaces", (*parts).namespaces, true},
	{"methods", (*parts).methods, false},
	{"tables", (*parts).tables, false},
	{"versions", (*parts).readVersions, false},
}

// parts is a run of requests about parts of objects in a namespace. The path of its collection is that of the namespace's resources.
type parts struct {
	collection
	*catalogue
	subjects  []subject
	namespace string
}

// times sends as many requests as are asked for, each chosen by its weight.
func (q *parts) times(length int, choices ...any) {
	sum := 0
	for i := 0; i < len(choices); i += 2 {
		sum += choices[i].(int)
	}
	for range length {
		n := q.rand.IntN(sum)
		for i := 0; i < len(choices); i += 2 {
			if n -= choices[i].(int); n < 0 {
				choices[i+1].(func())()
				break
			}
		}
	}
}

func (q *parts) post(name, path, body string) { q.send(name, "POST", path, nil, "", jsonType, body) }

func (q *parts) get(name, path string) { q.send(name, "GET", path, nil, "", "", "") }

// body returns a JSON text with other values in place of some words: each alternative begins with the word that it replaces.
func (q *parts) body(text string, alternatives ...string) string {
	for range q.rand.IntN(3) {
		pair := strings.SplitN(alternatives[q.rand.IntN(len(alternatives))], " => ", 2)
		text = strings.Replace(text, pair[0], pair[1], 1)
	}
	return text
}

// identity returns the UID and the version of an object on the real server.
func (q *parts) identity(path string) (uid, version string) {
	answer := q.ask(q.section, "get", "GET", path, "", "")
	content, _ := answer.Content.(map[string]any)
	metadata, _ := content["metadata"].(map[string]any)
	uid, _ = metadata["uid"].(string)
	version, _ = metadata["resourceVersion"].(string)
	return uid, version
}

// writeQuery returns the query of a write, mostly empty.
func (q *parts) writeQuery() url.Values {
	query := url.Values{}
	if q.often(5) {
		query.Set("dryRun", q.one("All", "All", "All", "x", ""))
	}
	if q.often(8) {
		query.Set("fieldValidation", q.one("Strict", "Warn", "Ignore"))
	}
	if q.often(8) {
		query.Set("fieldManager", q.one("m1", "m2"))
	}
	return query
}

// pod names one of three pods.
func (q *parts) pod() string { return q.path + "pods/" + q.one("p0", "p1", "p2") }

// setStatus writes the phase of a pod, and whether it is ready.
func (q *parts) setStatus() {
	q.send("status", "PATCH", q.pod()+"/status", nil, "", mergePatch, `{"status":{"phase":"`+q.one("Running", "Running", "Running", "Pending",
		"Succeeded", "Failed")+
		`","conditions":[{"type":"Ready","status":"`+q.one("True", "True", "False")+`"}]}}`)
}

// evictions evicts pods that budgets protect.
func (q *parts) evictions(length int) {
	for range 3 {
		q.newPod()
	}
	q.setStatus()
	q.budget()
	q.times(length, 2, q.setStatus, 2, q.newPod, 2, q.budget, 4, q.budgetStatus, 9, q.evict)
	q.get("budgets", q.path[:len(q.path)-1]) // the namespace, since lists are compared by name only
}

// newPod makes a pod, unless it is there.
func (q *parts) newPod() {
	i := q.rand.IntN(3)
	extra := q.one("", "", "", `,"terminationGracePeriodSeconds":0`, `,"nodeName":"n1"`, `,"schedulingGates":[{"name":"example.com/g"}]`)
	finalizers := q.one("", "", "", `,"finalizers":["example.com/f"]`)
	q.post("pod", q.path+"pods", fmt.Sprintf(`{"metadata":{"name":"p%d","labels":{"app":%q}%s},"spec":{"containers":[{"name":"c","image":"i"}]%s}}`, i,
		q.one("a", "a", "b"), finalizers, extra))
}

func (q *parts) budget() {
	name := q.one("b0", "b0", "b1")
	if q.often(3) {
		q.send("delete budget", "DELETE", q.path2("policy/v1", "poddisruptionbudgets/"+name), nil, "", "", "")
		return
	}
	q.post("budget", q.path2("policy/v1", "poddisruptionbudgets"), fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"selector":%s,%s%s}}`, name,
		q.one(`{"matchLabels":{"app":"a"}}`, `{"matchLabels":{"app":"a"}}`, `{}`, `{"matchExpressions":[{"key":"app","operator":"Exists"}]}`),
		q.one(`"minAvailable":1`, `"maxUnavailable":"50%"`), q.one("", "", `,"unhealthyPodEvictionPolicy":"AlwaysAllow"`,
			`,"unhealthyPodEvictionPolicy":"IfHealthyBudget"`)))
}

// path2 returns the path of a resource of another group in the namespace.
func (q *parts) path2(gv, resource string) string {
	return "/apis/" + gv + "/namespaces/" + q.namespace + "/" + resource
}

// budgetStatus writes the status as its controller would. The time in it is not that of the server here, whose clock stands at the beginning of 2026: an
// eviction there would have written the same time, and a patch that names it again changes nothing, as it does on a real server.
func (q *parts) budgetStatus() {
	path := q.path2("policy/v1", "poddisruptionbudgets/"+q.one("b0", "b0", "b1"))
	status := fmt.Sprintf(`{"disruptionsAllowed":%s,"currentHealthy":%s,"desiredHealthy":%s,"expectedPods":3,"observedGeneration":%s`,
		q.one("0", "0", "1", "1", "2", "-1"), q.one("0", "1", "2"), q.one("0", "1", "2"), q.one("1", "1", "1", "0"))
	if q.often(3) {
		status += `,"conditions":[{"type":"DisruptionAllowed","status":"` + q.one("True", "False", "False") + `","reason":"` +
			q.one("SufficientPods", "SyncFailed", "InsufficientPods", "Other") + `","message":"` + q.one("", "why", "because") +
			`","lastTransitionTime":"2025-01-01T00:00:00Z","observedGeneration":1}]`
	}
	q.send("status of the budget", "PATCH", path+"/status", nil, "", mergePatch, `{"status":`+status+`}}`)
}

func (q *parts) evict() {
	pod := q.pod()
	options := ""
	if q.often(2) {
		uid, version := q.identity(pod)
		options = `,"deleteOptions":{` + q.one(`"gracePeriodSeconds":0`, `"gracePeriodSeconds":5`, `"gracePeriodSeconds":-1`, `"dryRun":["All"]`,
			`"dryRun":["x"]`,
			`"dryRun":[]`, `"propagationPolicy":"Foreground"`, `"propagationPolicy":"x"`, `"orphanDependents":true`, `"wrong":1`,
			`"preconditions":{"uid":"`+uid+`"}`, `"preconditions":{"resourceVersion":"`+version+`"}`, `"preconditions":{"resourceVersion":"1"}`,
			`"preconditions":{"uid":"x","resourceVersion":"`+version+`"}`, `"preconditions":{}`, `"ignoreStoreReadErrorWithClusterBreakingPotential":true`,
			`"kind":"DeleteOptions","apiVersion":"v1"`, `"kind":"Other"`) + `}`
	}
	body := q.body(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+pod[strings.LastIndex(pod, "/")+1:]+`"}`+options+`}`,
		`policy/v1" => policy/v1beta1"`, `policy/v1" => v1"`, `policy/v1" => policy/v2"`, `"Eviction" => "Pod"`, `"kind":"Eviction", => `,
		`"name":" => "name":"x`, `"metadata" => "wrong"`, `{"name": => {"namespace":"other","name":`, `{"name": => {"labels":{"a b":"c"},"name":`,
		`{"api => {{"api`,
		`policy/v1" => policy/v1"`, `policy/v1" => policy/v1"`)
	if q.often(30) {
		body = q.one("", "{}", "null", "[]", `{"apiVersion":"policy/v1","kind":"Eviction"}`)
	}
	q.send("evict", "POST", pod+"/eviction", q.writeQuery(), q.rarely(q.accept()), q.contentType(), body)
	q.get("pod", pod)
	q.get("budget", q.path2("policy/v1", "poddisruptionbudgets/b0"))
}

// rarely returns the text once in six times, and else nothing.
func (q *parts) rarely(text string) string {
	if q.often(6) {
		return text
	}
	return ""
}

// contentType returns a Content-Type, mostly JSON.
func (q *parts) contentType() string {
	if q.often(20) {
		return q.one("", "application/yaml", "text/plain", mergePatch)
	}
	return jsonType
}

// bindings binds pods to nodes.
func (q *parts) bindings(length int) {
	q.post("node", "/api/v1/nodes",
		`{"metadata":{"name":"`+q.prefix+`n","labels":{"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r","other":"o"}}}`)
	for range 8 { // meanwhile the cache of admission gets the node
		q.newPod()
	}
	q.times(length, 3, q.newPod, 1, q.setStatus, 8, q.bind, 1, func() {
		q.send("delete", "DELETE", q.pod(), url.Values{"gracePeriodSeconds": {q.one("0", "5")}}, "", "", "")
	}, 1, func() {
		q.send("gates", "PATCH", q.pod(), nil, "", mergePatch, `{"spec":{"schedulingGates":null}}`)
	}, 1, func() {
		q.send("nominate", "PATCH", q.pod()+"/status", nil, "", mergePatch,
			`{"status":{"nominatedNodeName":"n2","conditions":[{"type":"PodScheduled","status":"False","reason":"x","message":"m"}]}}`)
	})
}

func (q *parts) bind() {
	pod := q.pod()
	uid, version := "", ""
	if q.often(3) {
		uid, version = q.identity(pod)
	}
	name := pod[strings.LastIndex(pod, "/")+1:]
	body := q.body(`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"`+name+`"},"target":{"apiVersion":"v1","kind":"Node","name":"`+q.prefix+`n"}}`,
		`"apiVersion":"v1","kind":"Binding" => "apiVersion":"v2","kind":"Binding"`, `"Binding" => "Pod"`, `"kind":"Binding", => `,
		`{"name":"`+name+`"} => {}`,
		`{"name":" => {"annotations":{"a":"b"},"name":"`, `{"name":" => {"labels":{"l":"m","app":"z"},"name":"`,
		`{"name":" => {"namespace":"other","name":"`,
		`{"name":" => {"uid":"`+uid+`","name":"`, `{"name":" => {"uid":"x","name":"`, `{"name":" => {"resourceVersion":"`+version+`","name":"`,
		`{"name":" => {"resourceVersion":"1","name":"`, `{"name":" => {"resourceVersion":"x","name":"`,
		`{"name":" => {"labels":{"topology.kubernetes.io/zone":"y"},"name":"`,
		`"kind":"Node" => "kind":"Pod"`, `"kind":"Node", => `, `"name":"`+q.prefix+`n" => "name":""`, `"name":"`+q.prefix+`n" => "name":"Bad_Name!"`,
		`"name":"`+q.prefix+`n" => "name":"not-there"`, `"target":{ => "wrong":{`, `"target":{ => "wrong":1,"target":{`,
		`"name":"`+name+`" => "name":"other"`,
		`{"name":" => {"annotations":{"a b":"b"},"name":"`, `{"name":" => {"finalizers":["a"],"name":"`, `{"api => {{"api`)
	path := pod + "/binding"
	if q.often(6) {
		path = q.path + "bindings"
	}
	if q.often(30) {
		body = q.one("", "{}", "null", "[]")
	}
	q.send("bind", "POST", path, q.writeQuery(), q.rarely(q.accept()), q.contentType(), body)
	q.get("pod", pod)
}

// tokens asks for tokens of service accounts.
func (q *parts) tokens(length int) {
	q.post("account", q.path+"serviceaccounts", `{"metadata":{"name":"a"}}`)
	q.post("secret", q.path+"secrets", `{"metadata":{"name":"s"},"data":{"a":"MQ=="}}`)
	q.post("node", "/api/v1/nodes", `{"metadata":{"name":"`+q.prefix+`n"}}`)
	q.post("pod", q.path+"pods", `{"metadata":{"name":"p"},"spec":{"serviceAccountName":"a","containers":[{"name":"c","image":"i"}]}}`)
	q.post("pod", q.path+"pods", `{"metadata":{"name":"o"},"spec":{"serviceAccountName":"b","nodeName":"none","containers":[{"name":"c","image":"i"}]}}`)
	q.times(length, 1, q.token)
}

func (q *parts) token() {
	uid, podUID := "", ""
	if q.often(2) {
		uid, _ = q.identity(q.path + "serviceaccounts/a")
		podUID, _ = q.identity(q.path + "pods/p")
	}
	ref := q.one("", "", `,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}`,
		`,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"`+podUID+`"}`,
		`,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":"x"}`, `,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"o"}`,
		`,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"none"}`, `,"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"s"}`,
		`,"boundObjectRef":{"kind":"Secret","name":"s"}`, `,"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"none"}`,
		`,"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"`+q.prefix+`n"}`, `,"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"none"}`,
		`,"boundObjectRef":{"kind":"ConfigMap","apiVersion":"v1","name":"x"}`, `,"boundObjectRef":{"kind":"Pod","apiVersion":"apps/v1","name":"p"}`,
		`,"boundObjectRef":{}`, `,"boundObjectRef":{"kind":"Pod"}`, `,"boundObjectRef":{"kind":"Pod","apiVersion":"v1"}`,
		`,"boundObjectRef":{"apiVersion":"v1","name":"p"}`,
		`,"boundObjectRef":{"kind":"Pod","apiVersion":"x/y/z","name":"p"}`,
		`,"boundObjectRef":{"kind":"ValidatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1","name":"p"}`,
		`,"boundObjectRef":null`)
	spec := `"audiences":[` + q.one(``, `"x"`, `"x","y"`, `""`, `"https://kubernetes.default.svc"`, `"x","x"`) + `],"expirationSeconds":` +
		q.one("3600", "600", "599", "0", "-1", "86400", "3607", "4294967296", "4294967297", "null", `"x"`, "1.5", "31536000")
	body := q.body(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","metadata":{"name":"a"},"spec":{`+spec+ref+`}}`,
		`"authentication.k8s.io/v1" => "authentication.k8s.io/v2"`, `"authentication.k8s.io/v1" => "v1"`, `"TokenRequest" => "Other"`,
		`"TokenRequest" => "TokenReview"`,
		`{"name":"a"} => {"name":"b"}`, `{"name":"a"} => {"namespace":"other"}`, `{"name":"a"} => {"uid":"`+uid+`"}`, `{"name":"a"} => {"uid":"x"}`,
		`{"name":"a"} => {}`,
		`{"name":"a"} => {"labels":{"a":"b"},"annotations":{"a b":"c"}}`, `"metadata":{"name":"a"}, => `, `"spec":{ => "status":{"token":"x"},"spec":{`,
		`"spec":{ => "spec":{"wrong":1,`,
		`"spec":{ => "wrong":{`, `{"name":"a"} => {"resourceVersion":"5","generation":3,"creationTimestamp":"2020-01-01T00:00:00Z"}`,
		`"kind":"TokenRequest", => `, `"spec":{ => "spec":{"attestations":{"a":["b"]},`)
	if q.often(25) {
		body = q.one("", "{}", "null", "[]", `{"spec":{}}`)
	}
	q.send("token", "POST", q.path+"serviceaccounts/"+q.one("a", "a", "a", "a", "a", "none")+"/token", q.writeQuery(), q.rarely(q.accept()),
		q.contentType(), body)
}

// pods writes the parts of pods that have subresources of their own.
func (q *parts) pods(length int) {
	for i, extra := range []string{
		`"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2","memory":"1Gi"}}}]`,
		`"initContainers":[{"name":"s","image":"i","restartPolicy":"Always"},{"name":"i","image":"i"}],"containers":[{"name":"c","image":"i","resizePolicy":` +
			`[{"resourceName":"memory","restartPolicy":"RestartContainer"}]},{"name":"d","image":"i","resources":{"requests":{"cpu":"1"}}}]`,
		`"nodeName":"n1","resources":{"requests":{"cpu":"2"}},"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","emptyDir":{}}]`,
	} {
		q.post("pod", q.path+"pods", fmt.Sprintf(`{"metadata":{"name":"p%d","labels":{"app":"a"}},"spec":{%s}}`, i, extra))
	}
	q.times(length, 1, q.setStatus, 6, q.resize, 6, q.ephemeral, 1, func() { q.get("pod", q.pod()) }, 1, func() {
		q.send("started", "PATCH", q.pod()+"/status", nil, "", mergePatch,
			`{"status":{"phase":"Running","containerStatuses":[{"name":"c","image":"i","imageID":"",`+
				`"ready":true,"restartCount":0,"started":true,"state":{"running":{}}`+q.one("", `,"resources":{"requests":{"cpu":"1"}}`)+`}]}}`)
	})
}

// changed returns the object at a path as the server shows it, changed by a merge patch, to be sent by PUT.
func (q *parts) changed(path string, edit map[string]any) string {
	answer := q.ask(q.section, "get", "GET", path, "", "")
	object, _ := answer.Content.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	return text(merged(object, edit, false))
}

// writePart writes a subresource by each method, with an edit that is a merge patch.
func (q *parts) writePart(name, path string, edit map[string]any) {
	switch q.rand.IntN(6) {
	case 0:
		q.send(name+" put", "PUT", path, q.writeQuery(), "", q.contentType(), q.changed(path, edit))
	case 1:
		q.send(name+" merge", "PATCH", path, q.writeQuery(), "", mergePatch, text(edit))
	case 2, 3:
		q.send(name+" strategic", "PATCH", path, q.writeQuery(), q.rarely(q.accept()), strategic, text(edit))
	case 4:
		answer := q.ask(q.section, "get", "GET", path, "", "")
		q.send(name+" JSON patch", "PATCH", path, q.writeQuery(), "", jsonPatch, text(operations(answer.Content, edit, "")))
	default:
		query := q.writeQuery()
		query.Set("fieldManager", q.one("m1", "m2"))
		if q.often(2) {
			query.Set("force", "true")
		}
		q.send(name+" apply", "PATCH", path, query, "", applyYAML, text(merged(map[string]any{
			"apiVersion": "v1", "kind": q.one("Pod", "Pod", "Pod", "Pod", "Scale"),
		}, edit, false)))
	}
}

func (q *parts) resize() {
	path := q.pod() + "/resize"
	if q.often(8) {
		q.send("resize get", "GET", path, nil, q.accept(), "", "")
		return
	}
	resources := map[string]any{q.one("requests", "limits", "requests"): map[string]any{q.one("cpu", "memory", "cpu", "ephemeral-storage", "x/y",
		"hugepages-2Mi"): q.one("1", "2", "500m",
		"2Gi", "0", "-1", "x")}}
	container := map[string]any{"name": q.one("c", "c", "c", "c", "d", "none"), "resources": resources}
	switch q.rand.IntN(10) {
	case 0:
		container["image"] = "other"
	case 1:
		container["resizePolicy"] = []any{map[string]any{"resourceName": q.one("cpu", "memory", "x"), "restartPolicy": q.one("NotRequired",
			"RestartContainer", "x")}}
	case 2:
		container["resources"] = nil
	case 3:
		container["resources"] = map[string]any{"claims": []any{map[string]any{"name": "x"}}}
	}
	edit := map[string]any{"spec": map[string]any{q.one("containers", "containers", "containers", "containers", "initContainers"): []any{container}}}
	switch q.rand.IntN(12) {
	case 0:
		edit["metadata"] = map[string]any{"labels": map[string]any{"x": "y"}}
	case 1:
		edit["status"] = map[string]any{"phase": "Failed"}
	case 2:
		edit["spec"].(map[string]any)["activeDeadlineSeconds"] = int64(5)
	case 3:
		edit["spec"].(map[string]any)["resources"] = map[string]any{"requests": map[string]any{"cpu": "3"}}
	}
	q.writePart("resize", path, edit)
}

func (q *parts) ephemeral() {
	path := q.pod() + "/ephemeralcontainers"
	if q.often(8) {
		q.send("ephemeral get", "GET", path, nil, q.accept(), "", "")
		return
	}
	container := map[string]any{"name": q.one("e", "e1", "e2", "c", "", "Bad_Name!"), "image": q.one("i", "i", "j", "")}
	switch q.rand.IntN(12) {
	case 0:
		container["targetContainerName"] = q.one("c", "none")
	case 1:
		container["ports"] = []any{map[string]any{"containerPort": int64(80)}}
	case 2:
		container["resources"] = map[string]any{"requests": map[string]any{"cpu": "1"}}
	case 3:
		container["lifecycle"] = map[string]any{"preStop": map[string]any{"exec": map[string]any{"command": []any{"x"}}}}
	case 4:
		container["livenessProbe"] = map[string]any{"exec": map[string]any{"command": []any{"x"}}}
	case 5:
		container["volumeMounts"] = []any{map[string]any{"name": q.one("v", "none"), "mountPath": "/v", q.one("subPath", "readOnly"): q.one("x", "y")}}
	case 6:
		container["restartPolicy"] = q.one("Always", "Never")
	case 7:
		container["wrong"] = int64(1)
	}
	list := []any{container}
	if q.often(5) {
		list = append(list, map[string]any{"name": "e3", "image": "i"})
	}
	edit := map[string]any{"spec": map[string]any{"ephemeralContainers": list}}
	switch q.rand.IntN(12) {
	case 0:
		edit["metadata"] = map[string]any{"labels": map[string]any{"x": "y"}}
	case 1:
		edit["spec"].(map[string]any)["containers"] = []any{map[string]any{"name": "c", "image": "other"}}
	case 2:
		edit["spec"] = map[string]any{"ephemeralContainers": nil}
	}
	q.writePart("ephemeral", path, edit)
}

// scales writes the scale of each kind that has one.
func (q *parts) scales(length int) {
	const template = `"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	q.post("deployment", q.path2("apps/v1", "deployments"),
		`{"metadata":{"name":"x"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},`+template+`}}`)
	q.post("replicaset", q.path2("apps/v1", "replicasets"),
		`{"metadata":{"name":"x","labels":{"l":"m"}},"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"In","values":["b","c"]}]},`+
			template+`}}`)
	q.post("statefulset", q.path2("apps/v1", "statefulsets"),
		`{"metadata":{"name":"x"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},`+template+`}}`)
	q.post("replicationcontroller", q.path+"replicationcontrollers", `{"metadata":{"name":"x"},"spec":{"selector":{"a":"b"},`+template+`}}`)
	q.post("widget", q.path2("seq.example.com/v1", "widgets"),
		`{"apiVersion":"seq.example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"replicas":2}}`)
	q.times(length, 1, q.scaleOne)
}

func (q *parts) scaleOne() {
	one := q.one(q.path2("apps/v1", "deployments"), q.path2("apps/v1", "replicasets"), q.path2("apps/v1", "statefulsets"), q.path+"replicationcontrollers",
		q.path2("seq.example.com/v1", "widgets")) + "/" + q.one("x", "x", "x", "x", "x", "x", "none")
	path := one + "/scale"
	query, replicas := q.writeQuery(), q.one("0", "3", "5", "-1", `"x"`, "null", "1.5", "2147483648", "1000000")
	switch q.rand.IntN(10) {
	case 0:
		q.send("scale get", "GET", path, nil, q.accept(), "", "")
	case 1, 2, 3:
		uid, version := q.identity(one)
		body := q.body(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"`+q.namespace+`"},"spec":{"replicas":`+replicas+`}}`,
			`{"name":"x" => {"name":"other"`, `{"name":"x", => {`, `"namespace":" => "namespace":"x`, `{"name":"x" => {"name":"x","uid":"`+uid+`"`,
			`{"name":"x" => {"name":"x","uid":"x"`,
			`{"name":"x" => {"name":"x","resourceVersion":"`+version+`"`, `{"name":"x" => {"name":"x","resourceVersion":"1"`,
			`{"name":"x" => {"name":"x","resourceVersion":"x"`,
			`{"name":"x" => {"name":"x","labels":{"a b":"c"}`, `{"name":"x" => {"name":"x","labels":{"a":"c"}`,
			`{"name":"x" => {"name":"x","finalizers":["a/b"]`,
			`"autoscaling/v1" => "autoscaling/v2"`, `"autoscaling/v1" => "extensions/v1beta1"`, `"Scale" => "Deployment"`, `"kind":"Scale", => `,
			`"spec":{ => "wrong":{`,
			`"spec":{ => "spec":{"wrong":1,`, `"spec":{ => "status":{"replicas":7,"selector":"x=y"},"spec":{`, `{"api => {{"api`)
		q.send("scale put", "PUT", path, query, q.rarely(q.accept()), q.contentType(), body)
	case 4, 5, 6:
		contentType := q.one(mergePatch, mergePatch, strategic)
		q.send("scale patch", "PATCH", path, query, q.rarely(q.accept()), contentType, q.one(`{"spec":{"replicas":`+replicas+`}}`,
			`{"spec":{"replicas":`+replicas+`}}`,
			`{"spec":null}`, `{}`, `{"wrong":1}`, `{"status":{"replicas":9}}`, `{"metadata":{"labels":{"x":"y"}}}`, `{"metadata":{"name":"other"}}`,
			`{"metadata":{"resourceVersion":"1"}}`,
			`{"metadata":{"uid":"x"}}`, `{"kind":"Other"}`, `{"apiVersion":"v1"}`, `[]`, `{`))
	case 7:
		q.send("scale JSON patch", "PATCH", path, query, "", jsonPatch, q.one(`[{"op":"replace","path":"/spec/replicas","value":`+replicas+`}]`,
			`[{"op":"test","path":"/spec/replicas","value":`+replicas+`}]`, `[{"op":"remove","path":"/spec/replicas"}]`, `[{"op":"remove","path":"/spec"}]`,
			`[{"op":"add","path":"/wrong","value":1}]`))
	case 8:
		query.Set("fieldManager", q.one("m1", "m2", "m3"))
		if q.often(2) {
			query.Set("force", "true")
		}
		q.send("scale apply", "PATCH", path, query, "", applyYAML,
			q.body(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":`+replicas+`}}`,
				`"autoscaling/v1" => "apps/v1"`, `"Scale" => "Deployment"`, `{"name":"x"} => {}`, `{"name":"x"} => {"labels":{"a":"b"}}`,
				`"spec":{ => "spec":{"wrong":1,`,
				`"spec":{ => "status":{"replicas":5},"spec":{`))
	default:
		q.send("scale "+q.one("a", "b"), q.one("POST", "DELETE", "HEAD", "OPTIONS", "FOO"), path, nil, "", jsonType, `{}`)
	}
	q.get("scaled", one)
}

// namespaces writes the parts of a namespace, and of its status.
func (q *parts) namespaces(length int) {
	q.times(length, 6, q.finalize, 2, func() {
		q.writePart("status", q.namespacePath()+"/status", map[string]any{"status": []any{map[string]any{"phase": q.one("Active", "Terminating", "x")},
			map[string]any{"conditions": []any{map[string]any{"type": "NamespaceContentRemaining", "status": q.one("True", "False", "x"), "reason": "r"}}},
			nil, "x"}[q.rand.IntN(4)]})
	}, 1, func() {
		q.send("delete", "DELETE", q.namespacePath(), q.writeQuery(), "", "", "")
	}, 1, func() {
		q.post("again", "/api/v1/namespaces", `{"metadata":{"name":"`+q.prefix+`2"},"spec":{"finalizers":[`+q.one(``, `"example.com/f"`, `"kubernetes"`,
			`"bad"`)+`]}}`)
	}, 1, func() {
		q.post("in it", q.namespacePath()+"/configmaps", `{"metadata":{"name":"m`+q.one("1", "2", "3", "4")+`"}}`)
	}, 1, func() {
		q.send("get", "GET", q.namespacePath()+q.one("", "/status", "/finalize", "/"), nil, q.rarely(q.accept()), "", "")
	})
}

// namespacePath returns the path of one of two namespaces.
func (q *parts) namespacePath() string { return "/api/v1/namespaces/" + q.namespace + q.one("", "-2") }

func (q *parts) finalize() {
	path := q.namespacePath()
	uid, version := q.identity(path)
	name := path[strings.LastIndex(path, "/")+1:]
	body := q.body(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"},"spec":{"finalizers":["kubernetes"]}}`,
		`["kubernetes"] => []`, `["kubernetes"] => []`, `["kubernetes"] => null`, `["kubernetes"] => ["kubernetes","example.com/f"]`,
		`["kubernetes"] => ["x"]`, `["kubernetes"] => [""]`,
		`["kubernetes"] => ["kubernetes","kubernetes"]`, `{"name":" => {"resourceVersion":"`+version+`","name":"`,
		`{"name":" => {"resourceVersion":"1","name":"`,
		`{"name":" => {"uid":"`+uid+`","name":"`, `{"name":" => {"uid":"x","name":"`, `{"name":" => {"labels":{"a":"b"},"name":"`,
		`{"name":" => {"finalizers":["a/b"],"name":"`,
		`"name":" => "name":"x`, `"kind":"Namespace" => "kind":"Pod"`, `"spec":{ => "wrong":{`, `"spec":{ => "status":{"phase":"Terminating"},"spec":{`,
		`"v1" => "v2"`)
	q.send("finalize", q.one("PUT", "PUT", "PUT", "PUT", "PUT", "PUT", "PUT", "POST", "PATCH", "DELETE", "GET"), path+"/finalize", q.writeQuery(),
		q.rarely(q.accept()), q.contentType(), body)
	q.get("get", path)
}

// object makes an object of a kind, and returns the path of its collection and its name.
func (q *parts) object(s subject) (collection, name string) {
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(s.Object)}
	object.SetName(q.prefix + "x")
	collection = q.collectionOf(object.GroupVersionKind(), q.namespace)
	q.post("create", collection, text(object.Object))
	return collection, object.GetName()
}

// methods sends requests of all methods to all paths about a kind.
func (q *parts) methods(length int) {
	s := q.subjects[q.rand.IntN(len(q.subjects))]
	collection, name := q.object(s)
	one := collection + "/" + name
	for range length {
		method := q.one("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "FOO", "CONNECT2")
		path := q.one(collection, one, one+"/status", one+"/scale", one+"/nope", one+"/eviction", one+"/binding", one+"/token", one+"/finalize",
			one+"/log", one+"/exec", one+"/attach",
			one+"/portforward", one+"/proxy", one+"/proxy/a/b", one+"/resize", one+"/ephemeralcontainers", one+"/approval", one+"/status/x",
			collection+"/", one+"/", one+"//", one+"/status/",
			strings.Replace(collection, "/v1/", "/v1/watch/", 1), strings.Replace(one, "/v1/", "/v1/watch/", 1), strings.Replace(collection, "/v1/",
				"/v9/", 1),
			strings.Replace(collection, "/namespaces/"+q.namespace, "", 1), strings.Replace(one, "/namespaces/"+q.namespace, "", 1),
			strings.Replace(collection, "/namespaces/"+q.namespace, "/namespaces/none", 1), collection+"x", collection[:strings.LastIndex(collection,
				"/")], collection+"/none", collection+"/none/status",
			strings.Replace(collection, "/namespaces/"+q.namespace, "/namespaces/", 1), strings.ToUpper(one), "/apis/none/v1/things",
			"/apis/none/v1/namespaces/a/things/b", "/api/v1/x/y/z/w")
		query := q.writeQuery()
		query.Set("dryRun", "All")
		if strings.Contains(path, "/watch/") {
			query.Set("timeoutSeconds", "1")
			if method == "GET" {
				query.Set("resourceVersion", "0")
			}
		}
		body, contentType := "", ""
		if method == "POST" || method == "PUT" || method == "PATCH" {
			body, contentType = q.one("{}", "{}", `{"metadata":{"name":"`+name+`"}}`, "", "null"), q.one(jsonType, mergePatch, strategic,
				"application/yaml", "text/plain", "")
		}
		r := requests.Request{Section: q.section, Name: method, Method: method, Path: path + "?" + query.Encode(), Accept: q.rarely(q.accept()),
			ContentType: contentType, Body: body}
		if strings.Contains(path, "/watch/") {
			r.End = "closed"
		}
		q.recorder.send(r)
	}
}

// tables changes an object in the ways that sequences do, and reads it in each form.
func (q *parts) tables(length int) {
	s := q.subjects[q.rand.IntN(len(q.subjects))]
	collection, name := q.object(s)
	for range length / 3 {
		edit := s.Edits[q.rand.IntN(len(s.Edits))]
		path := collection + "/" + name
		if _, ok := edit["status"]; ok {
			path += "/status"
		}
		q.send("edit", "PATCH", path, nil, "", mergePatch, text(edit))
		accept := q.one(tableAccepted, tableAccepted, tableAccepted, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
			"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
			"application/json;as=Table;v=v1beta1;g=meta.k8s.io")
		query := url.Values{}
		if q.often(3) {
			query.Set("includeObject", q.one("None", "Metadata", "Object", "x"))
		}
		path = collection + "/" + name
		switch q.rand.IntN(6) {
		case 0, 1:
			path = collection
			query.Set("fieldSelector", "metadata.name="+name)
		case 2:
			path += "/status"
		case 3:
			path = collection
			query.Set("fieldSelector", "metadata.name="+name)
			query.Set("watch", "1")
			query.Set("timeoutSeconds", "1")
		}
		q.send("read", "GET", path, query, accept, "", "")
	}
}

// readVersions lists and watches with versions, tokens and limits that go together in many ways.
func (q *parts) readVersions(length int) {
	s := q.subjects[q.rand.IntN(len(q.subjects))]
	object := runtime.DeepCopyJSON(s.Object)
	q.Kind, q.Object = s.Kind, object
	u := &unstructured.Unstructured{Object: object}
	gvk := u.GroupVersionKind()
	if q.resources[gvk].Namespaced {
		u.SetNamespace(q.namespace)
	}
	q.collection.object, q.path = object, q.collectionOf(gvk, q.namespace)
	for range 3 {
		q.create()
	}
	q.send("list", "GET", q.path, url.Values{"limit": {"1"}}, "", "", "")
	future := "99999999"
	for range length {
		if q.often(4) {
			q.change()
		}
		query := url.Values{}
		set := func(n int, name string, values ...string) {
			if q.often(n) {
				query.Set(name, q.one(values...))
			}
		}
		own := "run=" + q.prefix + "x"
		query.Set("labelSelector", own)
		set(2, "resourceVersion", "0", q.version(), q.version(), q.version(), "1", "18446744073709551615", "99999999999999999999", "01", " 1")
		if q.often(40) {
			query.Set("resourceVersion", future)
		}
		set(3, "resourceVersionMatch", "Exact", "NotOlderThan", "")
		set(2, "limit", "1", "2", "500")
		if len(q.continues) > 0 && q.often(3) {
			query.Set("continue", q.continues[q.rand.IntN(len(q.continues))])
		}
		set(12, "continue", "", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9",
			"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9hIn0",
			"eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6MSwic3RhcnQiOiJhIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhXHUwMDAwIn0",
			"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0", "W10", "bnVsbA")
		set(10, "fieldSelector", "metadata.name="+q.name(), "metadata.namespace="+q.namespace, "spec.nodeName=n", "spec.nodeName!=n",
			"status.phase=Running", "spec.restartPolicy=Always",
			"spec.schedulerName=x", "spec.serviceAccountName=a", "spec.hostNetwork=false", "status.podIP=", "status.nominatedNodeName=", "type=Opaque",
			"spec.unschedulable=true",
			"status.successful=0", "status.replicas=0", "spec.attacher=x", "involvedObject.name=x", "metadata.uid=x", "spec.clusterIP=None",
			"spec.type=ClusterIP")
		if version := query.Get("resourceVersion"); q.often(3) && version != "1" && version != "01" { // the cache of a real server may begin later
			query.Set("watch", "true")
			query.Set("timeoutSeconds", "1")
			set(3, "allowWatchBookmarks", "true")
			set(3, "sendInitialEvents", "true", "false")
		}
		if query.Has("resourceVersion") {
			q.send("list", "GET", q.path, url.Values{"limit": {"1"}, "labelSelector": {"run=none"}}, "", "", "")
		}
		q.send("read", "GET", q.path, query, q.rarely(q.accept()), "", "")
	}
}

// discovery reads what the server serves, in its forms.
func (r *recorder) discovery(c *catalogue) {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	get := func(name, path, accept string) {
		r.send(requests.Request{Section: "discovery", Name: name + " " + path, Method: http.MethodGet, Path: path, Accept: accept})
	}
	seen := map[string]bool{}
	var paths []string
	for _, gvk := range c.sorted() {
		for _, path := range []string{"/apis/" + gvk.Group, "/apis/" + gvk.GroupVersion().String()} {
			if gvk.Group == "" {
				path = "/api/v1"
			}
			if !seen[path] {
				seen[path] = true
				paths = append(paths, path)
			}
		}
	}
	for _, path := range append(paths, "/api", "/apis", "/apis/", "/api/", "/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/none",
		"/apis/none", "/apis/none/v1", "/apis/apps/v9",
		"/api/v9", "/nope", "/apis/storage.k8s.io/v1/", "/openapi", "/openapi/v3/none", "/openapi/v3/apis/none/v1", "/openapi/v2/x", "/swagger.json",
		"/metrics/x", "/api/v1/namespaces/default/") {
		get("get", path, "")
	}
	for _, path := range []string{"/api", "/apis", "/apis/apps", "/apis/storage.k8s.io/v1", "/api/v1", "/version", "/none"} {
		for _, accept := range []string{aggregated, "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", aggregated +
			",application/json", "application/yaml",
			"application/vnd.kubernetes.protobuf", "text/html", "*/*", aggregated + ";profile=nopeer", "application/cbor", tableAccepted} {
			if path != "/version" || !strings.Contains(accept, "*") && !strings.HasPrefix(accept, jsonType) { // it tells what a program was built with
				get(accept, path, accept)
			}
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"} {
			r.send(requests.Request{Section: "discovery", Name: method + " " + path, Method: method, Path: path, ContentType: jsonType, Body: "{}"})
		}
	}
}
