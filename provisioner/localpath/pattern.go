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

// pvMetadata holds the fields that a pattern can refer to.
//
// Upstream: provisioner.go pvMetadata, v0.0.37.
type pvMetadata struct {
	PVName string
	PVC    metav1.ObjectMeta
}

// folderName returns the volume's directory, in the one that was chosen for it.
//
// Upstream: provisioner.go provisionFor, v0.0.37.
func folderName(options provisioner.ProvisionOptions) (string, error) {
	pattern, exists := options.StorageClass.Parameters[paramPathPattern]
	if !exists {
		return strings.Join([]string{options.PVName, options.PVC.Namespace, options.PVC.Name}, "_"), nil
	}
	allowUnsafe, _ := allowUnsafePath(options.StorageClass)
	folder, err := pathFromPattern(pattern, options, allowUnsafe)
	switch {
	case err != nil:
		return "", fmt.Errorf("failed to create path from pattern %s: %w", pattern, err)
	case !allowUnsafe && !filepath.IsLocal(filepath.FromSlash(folder)):
		return "", fmt.Errorf("folder path contains invalid references: %s", folder)
	}
	return folder, nil
}

// pathFromPattern fills in a path pattern. Unless it is allowed, the path must
// begin with the claim's namespace and name: a user who may write annotations must
// not reach other claims' directories.
//
// Upstream: provisioner.go pathFromPattern, v0.0.37.
func pathFromPattern(pattern string, options provisioner.ProvisionOptions, allowUnsafePath bool) (string, error) {
	folder, err := fillIn(template.New("pathPattern"), pattern, options)
	if err != nil || allowUnsafePath {
		return folder, err
	}
	if !strings.HasPrefix(folder, options.PVC.Namespace+"/"+options.PVC.Name+"/") {
		return "", fmt.Errorf("pathPattern must start with {{ .PVC.Namespace }}/{{ .PVC.Name }}/: %s", folder)
	}
	return folder, nil
}

// ownership holds the owner and permissions of the new directory. The setup script gets them, and
// may use them.
type ownership struct{ user, group, perm string }

// ownershipOf fills in the patterns of the class.
//
// Upstream: provisioner.go provisionFor, v0.0.37.
func ownershipOf(options provisioner.ProvisionOptions) (o ownership, err error) {
	for _, field := range []struct {
		param, name string
		value       *string
	}{
		{paramUserPattern, "user", &o.user},
		{paramGroupPattern, "group", &o.group},
		{paramPermPattern, "perm", &o.perm},
	} {
		if *field.value, err = dataFromPattern(field.param, field.name, options); err != nil {
			return ownership{}, err
		}
	}
	return o, nil
}

// dataFromPattern returns the value of a pattern; without one it is empty. A label or
// annotation that is not there is an error, unlike in a path pattern.
//
// Upstream: provisioner.go dataFromPattern, v0.0.37.
func dataFromPattern(param, name string, options provisioner.ProvisionOptions) (string, error) {
	pattern, exists := parameterOrAnnotation(options.StorageClass, param)
	if !exists {
		return "", nil
	}
	value, err := fillIn(template.New("dataPattern").Option("missingkey=error"), pattern, options)
	if err != nil {
		return "", fmt.Errorf("failed to create %s from pattern %s: %w", name, pattern, err)
	}
	return strings.TrimSpace(value), nil
}

// fillIn executes a pattern.
func fillIn(tmpl *template.Template, pattern string, options provisioner.ProvisionOptions) (string, error) {
	if _, err := tmpl.Parse(pattern); err != nil {
		return "", err
	}
	out := &limitedText{}
	err := tmpl.Execute(out, pvMetadata{PVName: options.PVName, PVC: *options.PVC.ObjectMeta.DeepCopy()})
	return out.String(), err
}

// limitedText is text that is no longer than a path can be.
type limitedText struct{ strings.Builder }

func (t *limitedText) Write(p []byte) (int, error) {
	if t.Len()+len(p) > maxPatternLength {
		return 0, errors.New("it gives more than 4096 bytes")
	}
	return t.Builder.Write(p)
}
