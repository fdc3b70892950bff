package stacks

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strings"
)

// Frame is a function of a stack.
type Frame struct {
	// Function is its name with the path of its package.
	Function string
	// At is the file and the line.
	At string
}

// Group is a set of goroutines with the same stack and labels.
type Group struct {
	// Labels holds the labels of package runtime/pprof as a JSON object; "" without any.
	Labels string
	// Frames is the stack, innermost function first. A goroutine that has not begun may have none.
	Frames []Frame
}

// All returns all goroutines. They stop for that moment.
func All() (list []Group) {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return nil // a buffer takes everything
	}
	for part := range strings.SplitSeq(b.String(), "\n\n") {
		var g Group
		for line := range strings.Lines(part) {
			if labels, ok := strings.CutPrefix(line, "# labels: "); ok {
				g.Labels = strings.TrimSpace(labels)
			} else if fields := strings.Split(strings.TrimSpace(line), "\t"); len(fields) >= 4 && fields[0] == "#" {
				name, _, _ := strings.Cut(fields[2], "+0x")
				g.Frames = append(g.Frames, Frame{name, fields[len(fields)-1]})
			}
		}
		if g.Labels != "" || len(g.Frames) > 0 {
			list = append(list, g)
		}
	}
	return list
}

// modules lists the modules whose functions are not the author's.
var modules = []string{strings.TrimSuffix(reflect.TypeFor[Frame]().PkgPath(), "/internal/stacks"), "google.golang.org/grpc"}

// goroot is the directory of the standard library's sources as stacks name it, "" if they do not.
var goroot = func() string {
	_, file, _, _ := runtime.Caller(0)
	pc := reflect.ValueOf(fmt.Sprint).Pointer()
	if std, _ := runtime.FuncForPC(pc).FileLine(pc); std != "" && std != file {
		return strings.TrimSuffix(std[:strings.LastIndex(std, "/")], "fmt")
	}
	return ""
}()

// IsAuthors reports whether the function belongs neither to the standard library nor to this one.
func (f Frame) IsAuthors() bool {
	if strings.HasPrefix(f.Function, "main.") {
		return true
	}
	pkg := f.Function
	if i := strings.LastIndex(pkg, "/"); i >= 0 {
		pkg = pkg[:i] + strings.SplitN(pkg[i:], ".", 2)[0]
	} else {
		pkg, _, _ = strings.Cut(pkg, ".")
	}
	if goroot != "" && strings.HasPrefix(f.At, goroot) {
		return false
	}
	if first, _, _ := strings.Cut(pkg, "/"); goroot == "" && !strings.Contains(first, ".") {
		return false
	}
	if strings.HasSuffix(pkg, "_test") {
		return true
	}
	for _, m := range modules {
		if pkg == m || strings.HasPrefix(pkg, m+"/") {
			return false
		}
	}
	return true
}
