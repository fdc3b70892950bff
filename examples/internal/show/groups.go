package show

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/machine/disk"
)

// An ordinary user can give files only to groups of his own, so the effect of an fsGroup
// depends on the user who runs an example. These two make it the same for all users: in
// manifests fsGroup 1000 becomes the group that the node's files have, and 2000 a group that
// the user cannot give them; in the output they are 1000 and 2000 again.
const (
	ownGroup     = 1000
	foreignGroup = 2000
)

// WithGroups returns a Show for manifests with fsGroup 1000 and 2000 and no other setting
// of groups.
func WithGroups(c *storagesim.Cluster, node string, files fs.FS, out io.Writer) (*Show, error) {
	root, err := disk.Open(filepath.Join(c.Lab().Dir(), node))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat("/")
	if err != nil {
		return nil, err
	}
	_, gid, _ := disk.Owner(info)
	var in, back []string
	for _, shown := range []int{ownGroup, foreignGroup} {
		real := gid + shown - ownGroup
		in = append(in, fmt.Sprintf("fsGroup: %d", shown), fmt.Sprintf("fsGroup: %d", real))
		for _, text := range []string{"fsGroup is %d,", "GID %d."} {
			back = append(back, fmt.Sprintf(text, real), fmt.Sprintf(text, shown))
		}
	}
	return New(c, replacedFiles{files, strings.NewReplacer(in...)}, &replacedOutput{out, strings.NewReplacer(back...)}), nil
}

type replacedFiles struct {
	fs.FS
	replacer *strings.Replacer
}

// ReadFile implements fs.ReadFileFS.
func (f replacedFiles) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(f.FS, name)
	return []byte(f.replacer.Replace(string(data))), err
}

type replacedOutput struct {
	out      io.Writer
	replacer *strings.Replacer
}

func (w *replacedOutput) Write(text []byte) (int, error) {
	if _, err := w.replacer.WriteString(w.out, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}
