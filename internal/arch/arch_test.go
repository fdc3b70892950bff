package arch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/arch"
)

func TestThisRepositoryKeepsItsRules(t *testing.T) {
	top := os.DirFS(filepath.Join("..", ".."))

	t.Run("imports run one way", func(t *testing.T) {
		found, err := arch.CheckImports(top, arch.Layers())
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("driven code depends on nothing but its Env", func(t *testing.T) {
		found, err := arch.CheckDriven(top, arch.Driven())
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("client-go's fakes stay in their adapter, and package testing out of programs", func(t *testing.T) {
		found, err := arch.CheckKeptImports(top, arch.KeptImports())
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("a program without CSI drivers does not link gRPC", func(t *testing.T) {
		found, err := arch.CheckLinked(top, arch.Light())
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("a program that does not import api/crd/cel does not link the library for CEL", func(t *testing.T) {
		found, err := arch.CheckLinked(top, arch.WithoutCEL())
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("the linker may leave out methods that nothing calls", func(t *testing.T) {
		found, err := arch.CheckLinked(top, arch.Trimmed())
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("what is public is in the table of ARCHITECTURE.md", func(t *testing.T) {
		found, err := arch.CheckPublic(top)
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("the rooms of the API server are small, and Cluster has few methods", func(t *testing.T) {
		found, err := arch.CheckRooms(top)
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("few rooms name each other both ways, and none in a circle", func(t *testing.T) {
		found, err := arch.CheckArrows(top, arch.Houses())
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("directories are removed only by what stops at mounts", func(t *testing.T) {
		found, err := arch.CheckRemovals(top, arch.Removers())
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("lines have 160 columns at most", func(t *testing.T) {
		found, err := arch.CheckLines(top)
		require.NoError(t, err)
		report(t, found)
	})
	t.Run("no file names a place on one machine", func(t *testing.T) {
		found, err := arch.CheckText(top, arch.NoText())
		require.NoError(t, err)
		report(t, found)
	})
}

func report(t *testing.T, found []arch.Violation) {
	t.Helper()
	for _, v := range found {
		t.Error(v)
	}
}

func TestAnImportAgainstTheDirectionIsFound(t *testing.T) {
	const module = `"` + arch.Module
	tests := map[string]struct {
		file, src string
		want      string // "" if it is allowed
	}{
		"a controller imports the rules":           {"scheduler/a.go", `import ` + module + `/binding"`, ""},
		"a controller imports its own subpackage":  {"kubelet/a.go", `import ` + module + `/kubelet/local"`, ""},
		"a controller imports a machine":           {"provisioner/a.go", `import ` + module + `/machine/disk"`, ""},
		"a controller imports the plugin contract": {"controllers/attachdetach/a.go", `import ` + module + `/volume"`, ""},
		"a machine imports a controller":           {"machine/a.go", `import ` + module + `/kubelet"`, "machine (machines) imports kubelet (controllers)"},
		"a volume imports the kubelet":             {"volume/a.go", `import ` + module + `/kubelet"`, "volume (volumes) imports kubelet (controllers)"},
		"the store knows no kinds": {"api/store/a.go", `import ` + module + `/api/registry"`,
			"api/store (api store) imports api/registry (api kinds)"},
		"a room of the API server knows no server": {"api/admission/a.go", `import ` + module + `/api"`, "api/admission (api admission) imports api (api)"},
		"a view knows no patch":                    {"api/views/a.go", `import ` + module + `/api/patch"`, "api/views (api views) imports api/patch (api patches)"},
		"the kinds know no server":                 {"api/registry/a.go", `import ` + module + `/api"`, "api/registry (api kinds) imports api (api)"},
		"a patch is made for a kind":               {"api/patch/a.go", `import ` + module + `/api/registry"`, ""},
		"the server imports its store":             {"api/a.go", `import ` + module + `/api/store"`, ""},
		"the API server imports a machine":         {"api/a.go", `import ` + module + `/machine"`, "api (api) imports machine (machines)"},
		"a controller imports a helper":            {"kubelet/a.go", `import ` + module + `/internal/x"`, ""},
		"a controller imports another": {"scheduler/a.go", `import ` + module + `/pvcontroller/protection"`,
			"scheduler (controllers) imports pvcontroller/protection (controllers): it may import only internal, binding, trace, control, machine, volume"},
		"a controller's subpackage imports another": {"kubelet/local/a.go", `import ` + module + `/provisioner"`,
			"kubelet/local (controllers) imports provisioner (provisioners)"},
		"a sidecar imports the provisioner library": {"csi/provisioner/a.go", `import ` + module + `/provisioner"`, ""},
		"a sidecar imports a controller": {"csi/attacher/a.go", `import ` + module + `/controllers/attachdetach"`,
			"csi/attacher (csi) imports controllers/attachdetach (controllers)"},
		"a controller imports the API server":      {"pvcontroller/a.go", `import ` + module + `/api"`, "imports api (api)"},
		"a controller imports the engine, renamed": {"pvcontroller/a.go", `import e ` + module + `/engine"`, "imports engine (drivers)"},
		"a controller imports the cluster":         {"pvcontroller/a.go", `import ` + module + `"`, "imports . (cluster)"},
		"the rules import the contract":            {"binding/a.go", `import ` + module + `/control"`, "binding (rules) imports control (contract)"},
		"the engine imports a controller":          {"engine/a.go", `import ` + module + `/kubelet"`, "imports kubelet (controllers)"},
		"the cluster imports a controller":         {"a.go", `import ` + module + `/kubelet"`, ""},
		"the engine's rig tries seeds":             {"internal/rigs/enginetest/a.go", `import ` + module + `/internal/seedtest"`, ""},
		"the engine's rig drives the engine":       {"internal/rigs/enginetest/a.go", `import ` + module + `/engine"`, ""},
		"a rig makes a cluster": {"internal/rigs/clustertest/a.go", `import ` + module + `"`,
			"internal/rigs/clustertest (test support) imports . (cluster)"},
		"a controller imports the engine's rig": {"scheduler/a.go", `import ` + module + `/internal/rigs/enginetest"`,
			"scheduler (controllers) imports internal/rigs/enginetest (test support)"},
		"seeds know no engine": {"internal/seedtest/a.go", `import ` + module + `/engine"`,
			"internal/seedtest (internal) imports engine (drivers)"},
		"an exploration tries seeds":                  {"explore/a.go", `import ` + module + `/internal/seeds"`, ""},
		"the conformance harness tries seeds":         {"conformance/a.go", `import ` + module + `/internal/seeds"`, ""},
		"the conformance harness explores":            {"conformance/a.go", `import ` + module + `/explore"`, "conformance (scripts) imports explore (exploration)"},
		"the cluster imports the story runner":        {"a.go", `import ` + module + `/story"`, "imports story (scripts)"},
		"the story runner imports the cluster":        {"story/a.go", `import ` + module + `"`, ""},
		"the conformance harness imports the command": {"conformance/a.go", `import ` + module + `/cmd/storagesim"`, "imports cmd/storagesim (top)"},
		"the command imports the story runner":        {"cmd/storagesim/a.go", `import ` + module + `/story"`, ""},
		"a helper imports the API server":             {"internal/x/a.go", `import ` + module + `/api"`, "internal/x (internal) imports api (api)"},
		"the command writes a page":                   {"cmd/storagesim/a.go", `import ` + module + `/view/page"`, ""},
		"an example writes a page":                    {"examples/internal/show/a.go", `import ` + module + `/view/page"`, ""},
		"the command draws":                           {"cmd/storagesim/a.go", `import ` + module + `/view/svg"`, ""},
		"a story draws":                               {"story/a.go", `import ` + module + `/view/mermaid"`, "imports view/mermaid (pages)"},
		"the cluster imports pages":                   {"a.go", `import ` + module + `/view/page"`, "imports view/page (pages)"},
		"an exploration imports pages":                {"explore/a.go", `import ` + module + `/view/page"`, "imports view/page (pages)"},
		"a view imports its page":                     {"view/a.go", `import ` + module + `/view/page"`, "view (views) imports view/page (pages)"},
		"a view imports the cluster":                  {"view/a.go", `import ` + module + `"`, "view (views) imports . (cluster)"},
		"a package nobody has placed":                 {"newcomer/a.go", ``, "package newcomer is in no layer"},
		"an import of a package nobody has placed":    {"cmd/a.go", `import ` + module + `/newcomer"`, "imports newcomer, which is in no layer"},
		"a file for another system":                   {"scheduler/a_windows.go", `import ` + module + `/api"`, "imports api (api)"},
		"a controller's test imports the engine":      {"scheduler/a_test.go", `import ` + module + `/engine"`, ""},
		"another module with a similar name":          {"scheduler/a.go", `import ` + module + `-extra/api"`, ""},
		"code in testdata is not ours":                {"scheduler/testdata/a.go", `import ` + module + `/api"`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := arch.CheckImports(tree(tt.file, tt.src), arch.Layers())
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
}

func TestARoomThatKnowsOrOffersTooMuchIsFound(t *testing.T) {
	tests := map[string]struct {
		file, src string
		want      string // "" if it is allowed
	}{
		"the store imports pods":        {"api/store/a.go", `import "k8s.io/api/core/v1"`, "imports k8s.io/api/core/v1: the store is given functions"},
		"the store's test imports pods": {"api/store/a_test.go", `import "k8s.io/api/core/v1"`, "imports k8s.io/api/core/v1"},
		"the store imports metadata":    {"api/store/a.go", `import "k8s.io/apimachinery/pkg/apis/meta/v1"`, ""},
		"a server of many methods":      {"api/a.go", methods("Server", 16), "Server has more than 15 methods"},
		"a server of some methods":      {"api/a.go", methods("Server", 15), ""},
		"a writer of many methods":      {"api/a.go", methods("writer", 21), "writer has more than 20 methods"},
		"rules that are methods":        {"api/internal/validation/pods/a.go", methods("Problems", 21), "Problems has more than 20 methods"},
		"a controller of many methods":  {"scheduler/a.go", methods("Scheduler", 21), ""},
		"a cluster of some methods":     {"a.go", methods("Cluster", 35), ""},
		"a cluster of many methods":     {"a.go", methods("Cluster", 36), "Cluster has more than 35 exported methods"},
		"a machine of many methods":     {"a.go", methods("Machine", 36), ""},
		"a cluster that embeds another": {"a.go", `type Cluster struct { *engine.Engine }`, "Cluster embeds *engine.Engine"},
		"admission reads":               {"api/admission/a.go", `type Reader interface { Get(); List() }`, ""},
		"admission writes":              {"api/admission/a.go", `type Reader interface { Get(); Put() }`, "Reader.Put neither gets nor lists"},
		"admission's reader is a server": {"api/admission/a.go", `type Reader interface { Get(); GetA(); GetB(); GetC(); GetD(); GetE(); GetF() }`,
			"Reader has 7 methods, at most 6 are allowed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := arch.CheckRooms(tree(tt.file, tt.src))
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
}

func TestRoomsThatNameEachOtherAreFound(t *testing.T) {
	const module = arch.Module
	tests := map[string]struct {
		files map[string]string
		want  string // "" if it is allowed
	}{
		"one way": {map[string]string{"a.go": `import "` + module + `/b"`, "b/b.go": `import "` + module + `/c"`, "c/c.go": ""}, ""},
		"folders": {map[string]string{"b/b.go": `import "` + module + `/c"`, "c/c/c.go": `import "` + module + `/b/x"`}, "b/ and c/ name each other both ways"},
		"files":   {map[string]string{"a.go": "var x = y", "b.go": "var y, z = 1, x"}, "a.go and b.go name each other both ways"},
		"a method": {map[string]string{"a.go": "type t struct{}\nvar _ = t{}.m()", "b.go": "func (t) m() int { return 0 }"},
			"a.go and b.go name each other both ways"},
		"a name of another package": {map[string]string{"a.go": "import \"fmt\"\nvar x = fmt.y", "b.go": "var y = x"}, ""},
		"tests":                     {map[string]string{"a.go": "var x = y", "b_test.go": "var y = x"}, ""},
		"a circle": {map[string]string{"a.go": "var x = y", "b.go": "var y = z", "c.go": "var z = x", "d.go": "var _ = x"},
			"a.go, b.go, c.go name each other in a circle"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for file, src := range tt.files {
				fsys[file] = &fstest.MapFile{Data: []byte("package p\n\n" + src + "\n")}
			}
			found, err := arch.CheckArrows(fsys, []arch.House{{Top: ".", Both: 0}})
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
	fsys := fstest.MapFS{"api/a.go": {Data: []byte("package p\n\nvar x = y\n")}, "api/b.go": {Data: []byte("package p\n\nvar y = x\n")}}
	found, err := arch.CheckArrows(fsys, []arch.House{{Top: "api", Both: 1}})
	require.NoError(t, err)
	require.Empty(t, found, "one pair is allowed")
}

func TestALineThatIsTooLongIsFound(t *testing.T) {
	const tooLong = "a line of more than 160 columns"
	words := strings.Repeat("word ", 40)
	for name, tt := range map[string]struct{ file, src, want string }{
		"a comment":                {"api/a.go", "// " + words, tooLong},
		"a comment of a test":      {"api/a_test.go", "// " + words, tooLong},
		"code":                     {"api/a.go", "var x = " + strings.Repeat("a + ", 40) + "a", tooLong},
		"code of a test":           {"api/a_test.go", "var x = " + strings.Repeat("a + ", 40) + "a", tooLong},
		"a text":                   {"api/a.go", `var x = "` + words + `"`, tooLong},
		"a text between backticks": {"api/a.go", "var x = `" + words + "`", tooLong},
		"a text of two lines":      {"api/a.go", "var x = `" + words + "\n" + words + "`", ""},
		"a quotation in a comment": {"api/a.go", "//\t" + words, ""},
		"160 columns":              {"api/a.go", "//" + strings.Repeat("é", 158), ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := arch.CheckLines(tree(tt.file, tt.src))
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
	generated := "// Code generated by a program. DO NOT EDIT.\n\npackage p\n\n// " + words
	found, err := arch.CheckLines(fstest.MapFS{"api/a.go": {Data: []byte(generated)}})
	require.NoError(t, err)
	require.Empty(t, found)
}

// methods returns n methods of a type.
func methods(of string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "func (*%s) M%d() {}\n", of, i)
	}
	return b.String()
}

func TestAnImportThatIsKeptForOtherPackagesIsFound(t *testing.T) {
	tests := map[string]struct {
		file, src string
		want      string // "" if it is allowed
	}{
		"the API server imports client-go's actions": {"api/a.go", `import "k8s.io/client-go/testing"`, "imports k8s.io/client-go/testing, which only api/fake may"},
		"the API server imports the fake clientset":  {"api/a.go", `import "k8s.io/client-go/kubernetes/fake"`, "imports k8s.io/client-go/kubernetes/fake"},
		"the cluster imports another fake":           {"a.go", `import "k8s.io/client-go/dynamic/fake"`, "imports k8s.io/client-go/dynamic/fake"},
		"the engine imports a typed fake": {"engine/a.go", `import "k8s.io/client-go/kubernetes/typed/core/v1/fake"`,
			"imports k8s.io/client-go/kubernetes/typed/core/v1/fake"},
		"the adapter imports them":               {"api/fake/a.go", `import "k8s.io/client-go/testing"`, ""},
		"a test imports them":                    {"api/a_test.go", `import "k8s.io/client-go/testing"`, ""},
		"the API server imports another package": {"api/a.go", `import "k8s.io/client-go/kubernetes/scheme"`, ""},
		"the cluster imports testing":            {"a.go", `import "testing"`, "imports testing, which only storagesimtest"},
		"a story imports testing":                {"story/a.go", `import "testing"`, "imports testing, which only storagesimtest"},
		"a test imports testing":                 {"a_test.go", `import "testing"`, ""},
		"the helpers for tests import it":        {"storagesimtest/a.go", `import "testing"`, ""},
		"a typed client is no fake":              {"engine/a.go", `import "k8s.io/client-go/kubernetes/typed/core/v1"`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := arch.CheckKeptImports(tree(tt.file, tt.src), arch.KeptImports())
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
}

func TestAnImportThatMakesProgramsLargeIsFound(t *testing.T) {
	const module = `"` + arch.Module
	tests := map[string]struct {
		file, src string
		want      string // "" if it is allowed
	}{
		"the cluster imports gRPC": {"a.go", `import "google.golang.org/grpc"`, "a.go:2: imports google.golang.org/grpc, and package . imports it"},
		"a package that the cluster imports does": {"explain/a.go", `import "google.golang.org/grpc/status"`,
			"explain/a.go:2: imports google.golang.org/grpc/status"},
		"a package that another of these imports":     {"kubelet/a.go", `import "github.com/container-storage-interface/spec/lib/go/csi"`, "kubelet/a.go:2: imports"},
		"a method is called by a name from elsewhere": {"kubelet/a.go", `var m = v.MethodByName(name)`, "kubelet/a.go:2: MethodByName without a literal"},
		"a method is called by a constant name":       {"kubelet/a.go", `var m = v.MethodByName("Code")`, ""},
		"only the codes":                              {"explain/a.go", `import "google.golang.org/grpc/codes"`, ""},
		"a package that the cluster does not use":     {"csi/a.go", `import "google.golang.org/grpc"`, ""},
		"a test": {"a_test.go", `import "google.golang.org/grpc"`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := tree(tt.file, tt.src)
			fsys["cluster.go"] = &fstest.MapFile{Data: []byte("package p\nimport " + module + "/explain\"\n")}
			fsys["explain/explain.go"] = &fstest.MapFile{Data: []byte("package p\nimport " + module + "/kubelet\"\n")}
			rule := arch.Light()
			rule.ByName = true
			found, err := arch.CheckLinked(fsys, rule)
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
}

func TestAPublicPackageThatIsNotInTheTableIsFound(t *testing.T) {
	tests := map[string]struct {
		row  string // of lessons
		want string // "" if it is allowed
	}{
		"all are there":          {"`kubelet`, `kubelet/local`", ""},
		"one is missing":         {"`kubelet`", "ARCHITECTURE.md: public package kubelet/local is not in the table"},
		"one is gone":            {"`kubelet`, `kubelet/local`, `kubelet/old`", "ARCHITECTURE.md:4: kubelet/old is no public package"},
		"one is internal":        {"`kubelet`, `kubelet/local`, `kubelet/internal/layout`", "kubelet/internal/layout is no public package"},
		"one is a command":       {"`kubelet`, `kubelet/local`, `cmd/x`", "cmd/x is no public package"},
		"one has only tests":     {"`kubelet`, `kubelet/local`, `docs`", "docs is no public package"},
		"one is there twice":     {"`kubelet`, `kubelet/local`, `kubelet`", "ARCHITECTURE.md:4: kubelet is in the table twice"},
		"one is in another row":  {"`kubelet`, `kubelet/local`, `storagesim`", "storagesim is in the table twice"},
		"one stands for several": {"`kubelet`, `kubelet/local`, `kubelet/*`", "kubelet/* is no public package"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{"ARCHITECTURE.md": {Data: []byte("| | packages |\n| --- | --- |\n| **API** | `storagesim` |\n| **lesson** | " + tt.row + " |\n")}}
			for file, pkg := range map[string]string{
				"cluster.go": "storagesim", "kubelet/a.go": "kubelet", "kubelet/local/a.go": "local", "kubelet/internal/layout/a.go": "layout",
				"internal/arch/a.go": "arch", "examples/x/a.go": "main", "examples/x/y/a.go": "y", "cmd/x/a.go": "main", "docs/a_test.go": "docs",
			} {
				fsys[file] = &fstest.MapFile{Data: []byte("package " + pkg + "\n")}
			}
			found, err := arch.CheckPublic(fsys)
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
}

func TestWhatWouldMakeDrivenCodeUnrepeatableIsFound(t *testing.T) {
	rules := arch.Driven()
	rules.Vars = map[string][]string{"scheduler": {"listed"}}
	tests := map[string]struct {
		file, src string
		want      string // "" if it is allowed
	}{
		"a goroutine":                     {"scheduler/a.go", `func f() { go f() }`, "starts a goroutine"},
		"a goroutine in a closure":        {"scheduler/a.go", `const c = 1; func f() { _ = func() { go f() } }`, "starts a goroutine"},
		"the machine's time":              {"scheduler/a.go", `import "time"; func f() { _ = time.Now() }`, "uses time.Now"},
		"the machine's time as a value":   {"scheduler/a.go", `import "time"; func f(g func(func() time.Time)) { g(time.Now) }`, "uses time.Now"},
		"the machine's time under a name": {"scheduler/a.go", `import clock "time"; func f() { clock.Sleep(1) }`, "uses time.Sleep"},
		"a timer":                         {"scheduler/a.go", `import "time"; func f() { <-time.After(1) }`, "uses time.After"},
		"a duration":                      {"scheduler/a.go", `import "time"; func f() time.Duration { return time.Second }`, ""},
		"a dot import":                    {"scheduler/a.go", `import . "time"; func f() { Sleep(1) }`, "imports time with a dot"},
		"a random number": {"scheduler/a.go", `import "math/rand/v2"; func f() { rand.Int() }`,
			"imports math/rand/v2: driven code uses control.Env.Choose"},
		"the log":                          {"kubelet/a.go", `import "log"; func f() { log.Print() }`, "imports log: "},
		"the structured log":               {"kubelet/a.go", `import "log/slog"; func f() { slog.Info("") }`, "imports log/slog: "},
		"klog":                             {"kubelet/a.go", `import "k8s.io/klog/v2"; func f() { klog.Info("") }`, "imports k8s.io/klog/v2: "},
		"files in a controller":            {"pvcontroller/a.go", `import "os"; func f() { os.Remove("/") }`, "imports os: "},
		"a command in the kubelet":         {"kubelet/a.go", `import "os/exec"; func f() { exec.Command("rm") }`, "imports os/exec: "},
		"files where files belong":         {"machine/disk/a.go", `import "os"; func f() { os.Remove("x") }`, ""},
		"system calls where mounts belong": {"machine/mount/a.go", `import "golang.org/x/sys/unix"; func f() { unix.Sync() }`, ""},
		"a global variable":                {"scheduler/a.go", `var cache = map[string]int{}`, "package-level variable cache"},
		"a global variable in a group":     {"scheduler/a.go", `import "errors"; var ( ok = errors.New("x"); n int )`, "package-level variable n"},
		"an error value":                   {"scheduler/a.go", `import "errors"; var ErrX = errors.New("x")`, ""},
		"an interface assertion":           {"scheduler/a.go", `var _ interface{} = 1`, ""},
		"a listed table":                   {"scheduler/a.go", `var listed = []string{"a"}`, ""},
		"a table listed for another":       {"kubelet/a.go", `var listed = []string{"a"}`, "package-level variable listed"},
		"a local variable":                 {"scheduler/a.go", `func f() { var n int; _ = n }`, ""},
		"all of it in a test":              {"scheduler/a_test.go", `import "time"; var n = time.Now()`, ""},
		"all of it in a driver":            {"engine/a.go", `import "time"; var n = time.Now()`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := arch.CheckDriven(tree(tt.file, tt.src), rules)
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
}

func TestARemovalThatGoesThroughMountsIsFound(t *testing.T) {
	tests := map[string]struct {
		file, src string
		want      string // "" if it is allowed
	}{
		"in the cluster":     {"a.go", `import "os"; func f() { os.RemoveAll("x") }`, "removes a directory through mounts: use mount.RemoveAll"},
		"as a value":         {"live/a.go", `import "os"; var f = os.RemoveAll`, "removes a directory through mounts"},
		"under another name": {"cmd/a.go", `import o "os"; func f() { o.RemoveAll("x") }`, "removes a directory through mounts"},
		"of an os.Root": {"machine/disk/a.go", `import "os"; type r struct { *os.Root }; func (r r) f() { r.Root.RemoveAll("x") }`,
			"removes a directory through mounts"},
		"of a node's disk":         {"kubelet/a.go", `func f(d interface{ RemoveAll(string) }) { d.RemoveAll("/x") }`, ""},
		"of one file":              {"cmd/a.go", `import "os"; func f() { os.Remove("x") }`, ""},
		"where it stops at mounts": {"machine/internal/removal/a.go", `import "os"; func f() { os.RemoveAll("x") }`, ""},
		"in a test":                {"kubelet/a_test.go", `import "os"; func f() { os.RemoveAll("x") }`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := arch.CheckRemovals(tree(tt.file, tt.src), arch.Removers())
			require.NoError(t, err)
			check(t, found, tt.want)
		})
	}
}

func TestAPlaceOnOneMachineIsFoundInAnyTextFile(t *testing.T) {
	secret := "see " + arch.NoText()[0] + "/notes"
	for _, name := range []string{"README.md", "docs/01.md", ".ci/run", "api/a.go", "story/testdata/a.txt", "examples/own-module/a.go"} {
		fsys := fstest.MapFS{
			name:                         {Data: []byte("one\n" + secret + "\n")},
			"examples/own-module/go.mod": {Data: []byte("module x\n")},
		}
		found, err := arch.CheckText(fsys, arch.NoText())
		require.NoError(t, err)
		if assert.Len(t, found, 1, name) {
			assert.Equal(t, name, found[0].File)
			assert.Equal(t, 2, found[0].Line)
		}
	}
	for _, name := range []string{".git/config", ".git", ".cache/x"} {
		found, err := arch.CheckText(fstest.MapFS{name: {Data: []byte(secret)}}, arch.NoText())
		require.NoError(t, err)
		assert.Empty(t, found, name)
	}
}

func TestAFileThatDoesNotParseIsAnError(t *testing.T) {
	_, err := arch.CheckImports(tree("scheduler/a.go", "func {"), arch.Layers())
	assert.ErrorContains(t, err, "scheduler/a.go:2")
}

// tree returns a module of one file; a nested module beside it is never looked at.
func tree(name, src string) fstest.MapFS {
	return fstest.MapFS{
		name:                      {Data: []byte("package p\n" + src + "\n")},
		"examples/nested/go.mod":  {Data: []byte("module nested\n")},
		"examples/nested/main.go": {Data: []byte("package main\nimport \"" + arch.Module + "/unknown\"\n")},
	}
}

func check(t *testing.T, found []arch.Violation, want string) {
	t.Helper()
	if want == "" {
		assert.Empty(t, found)
		return
	}
	if assert.Len(t, found, 1) {
		assert.Contains(t, found[0].String(), want)
	}
}
