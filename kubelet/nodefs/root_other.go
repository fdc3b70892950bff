//go:build !linux

package nodefs

import "os"

// root is an os.Root.
type root struct{ *os.Root }

func openRoot(path string) (*root, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &root{r}, nil
}

// OpenRoot opens a directory below.
func (r *root) OpenRoot(rel string) (*root, error) {
	sub, err := r.Root.OpenRoot(rel)
	if err != nil {
		return nil, err
	}
	return &root{sub}, nil
}

// hasNoLinks says whether there is certainly no symbolic link in rel, and rel
// exists: nothing is certain here.
func (r *root) hasNoLinks(string) bool { return false }
