package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxSize is the number of bytes a file of manifests may have. A file without an end is
// refused when it has been read so far.
const MaxSize = 16 << 20

// Files gives access to the files that ParseFiles may read.
type Files interface {
	Stat(path string) (fs.FileInfo, error)
	Open(path string) (*os.File, error)
}

// anywhere is the whole machine.
type anywhere struct{}

func (anywhere) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
func (anywhere) Open(path string) (*os.File, error)    { return os.Open(path) }

// ParseFiles reads the objects of files, and of the .yaml, .yml and .json files
// in directories (not in directories below them), as one set. See ParseSet. Devices,
// pipes and files of more than MaxSize bytes are refused.
func ParseFiles(kinds Kinds, paths ...string) ([]Object, error) {
	return ParseFilesIn(kinds, anywhere{}, paths...)
}

// ParseFilesIn parses files of a folder (*os.Root) as ParseFiles does. No path or link leads out
// of the folder.
func ParseFilesIn(kinds Kinds, files Files, paths ...string) ([]Object, error) {
	return Reader{Kinds: kinds}.filesIn(files, paths)
}

// Files works as ParseFiles.
func (r Reader) Files(paths ...string) ([]Object, error) { return r.filesIn(anywhere{}, paths) }

// FilesIn works as ParseFilesIn.
func (r Reader) FilesIn(files Files, paths ...string) ([]Object, error) {
	return r.filesIn(files, paths)
}

func (r Reader) filesIn(files Files, paths []string) ([]Object, error) {
	var sources []Source
	for _, path := range paths {
		found, err := r.manifestsAt(files, path)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			data, err := readFile(files, file)
			if err != nil {
				return nil, err
			}
			sources = append(sources, Source{Name: file, Data: data})
		}
	}
	return r.Set(sources...)
}

// manifestsAt returns the file itself, or the manifests in a directory.
func (r Reader) manifestsAt(files Files, path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("the name of a file is empty")
	}
	info, err := files.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, Plainly(path, err)
	}
	found, err := r.below(files, path, 0)
	if err == nil && len(found) == 0 {
		err = &Error{File: path, Problem: "the directory holds no .yaml, .yml or .json file"}
	}
	return found, err
}

// maxFolders is the number of directories in each other in which a Recursive reader looks. A link may lead to a directory above it.
const maxFolders = 50

// below returns the manifests in a directory.
func (r Reader) below(files Files, path string, depth int) (found []string, err error) {
	if depth > maxFolders {
		return nil, &Error{File: path, Problem: fmt.Sprintf("more than %d directories are in each other", maxFolders)}
	}
	dir, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		file := filepath.Join(path, name)
		info, err := files.Stat(file)
		isDir := err == nil && info.IsDir()
		switch {
		case isDir && r.Recursive:
			more, err := r.below(files, file, depth+1)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		case !isDir && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			found = append(found, file)
		}
	}
	return found, nil
}

// readFile reads a regular file. It checks the type first: opening a pipe would wait
// for a writer.
func readFile(files Files, path string) ([]byte, error) {
	info, err := files.Stat(path)
	if err != nil {
		return nil, Plainly(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{File: path, Problem: fmt.Sprintf("it is %s; expected a file or a directory", kindOfFile(info.Mode()))}
	}
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(path, f)
}

// ReadAll reads at most MaxSize bytes of what errors call name.
func ReadAll(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSize {
		return nil, &Error{File: name, Problem: fmt.Sprintf("it is larger than %d MiB, which is the most that is read", MaxSize>>20)}
	}
	return data, nil
}

// ReadFile reads one file that may be anywhere, as ParseFiles does.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, &Error{File: path, Problem: "it is a directory; expected a file"}
	}
	return readFile(anywhere{}, path)
}

// Plainly says what is wrong with a path without the name of a system call.
func Plainly(path string, err error) error {
	wrong, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok:
		return err
	case strings.Contains(path, "://"):
		return &Error{File: path, Problem: "files are not downloaded; download it first, or write -f - and pipe it in"}
	case strings.ContainsAny(path, "*?") && errors.Is(err, fs.ErrNotExist):
		return &Error{File: path, Problem: "no such file; patterns are not expanded here: name a directory, or each file"}
	}
	return fmt.Errorf("%s: %w", path, wrong.Err)
}

func kindOfFile(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file (" + strings.TrimSpace(mode.Type().String()) + ")"
}
