package localpath

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// maxPatternLength is Linux's PATH_MAX: nothing longer can be a path.
const maxPatternLength = 4096

// pvMetadata is what a path pattern can refer to.
//
// Upstream: provisioner.go pvMetadata, v0.0.37.
type pvMetadata struct {
	PVName string
	PVC    metav1.ObjectMeta
}

// folderName is the volume's directory, in the one that was chosen for it.
func folderName(options provisioner.ProvisionOptions, params parameters) (string, error) {
	if params.pathPattern == "" {
		return strings.Join([]string{options.PVName, options.PVC.Namespace, options.PVC.Name}, "_"), nil
	}
	folder, err := pathFromPattern(params.pathPattern, options, params.allowUnsafePathPattern)
	if err != nil {
		return "", fmt.Errorf("parameter %s %q: %w", paramPathPattern, params.pathPattern, err)
	}
	return folder, nil
}

// pathFromPattern fills in a path pattern. Unless it is allowed, the path must
// begin with the claim's namespace and name and stay in there: whoever may write
// annotations must not reach other claims' directories.
//
// Upstream: provisioner.go pathFromPattern and provisionFor, v0.0.37.
func pathFromPattern(pattern string, options provisioner.ProvisionOptions, allowUnsafePath bool) (string, error) {
	tmpl, err := template.New(paramPathPattern).Option("missingkey=error").Parse(pattern)
	if err != nil {
		return "", err
	}
	out := &limitedText{}
	metadata := pvMetadata{PVName: options.PVName, PVC: *options.PVC.ObjectMeta.DeepCopy()}
	if err := tmpl.Execute(out, metadata); err != nil {
		return "", err
	}
	folder := out.String()
	if allowUnsafePath {
		return folder, nil
	}
	if prefix := options.PVC.Namespace + "/" + options.PVC.Name + "/"; !strings.HasPrefix(folder, prefix) {
		return "", fmt.Errorf("it gives %q, but must start with {{ .PVC.Namespace }}/{{ .PVC.Name }}/, here %q, unless %s is true",
			folder, prefix, paramAllowUnsafePathPattern)
	}
	if !filepath.IsLocal(filepath.FromSlash(folder)) {
		return "", fmt.Errorf("it gives %q, which contains invalid references: it must not lead out of its directory", folder)
	}
	for element := range strings.SplitSeq(folder, "/") {
		if element == ".." {
			return "", fmt.Errorf("it gives %q, which contains %q", folder, "..")
		}
	}
	return folder, nil
}

// limitedText is text that is no longer than a path can be.
type limitedText struct{ strings.Builder }

func (t *limitedText) Write(p []byte) (int, error) {
	if t.Len()+len(p) > maxPatternLength {
		return 0, errors.New("it gives more than 4096 bytes")
	}
	return t.Builder.Write(p)
}
