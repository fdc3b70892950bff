package learn

import (
	"bytes"
	"io/fs"
	"maps"
	"time"
)

// only is a file system of some files, so that a story can read no others.
type only struct{ files map[string]string }

// Open implements fs.FS.
func (o only) Open(name string) (fs.File, error) {
	text, ok := o.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{*bytes.NewReader([]byte(text)), name}, nil
}

// with returns the files with some of them replaced.
func (o only) with(files map[string]string) only {
	all := maps.Clone(o.files)
	maps.Copy(all, files)
	return only{all}
}

// file is an open file of only.
type file struct {
	bytes.Reader
	name string
}

// Stat implements fs.File.
func (f *file) Stat() (fs.FileInfo, error) { return f, nil }

// Close implements fs.File.
func (f *file) Close() error { return nil }

// Name implements fs.FileInfo.
func (f *file) Name() string { return f.name }

// Mode implements fs.FileInfo.
func (f *file) Mode() fs.FileMode { return 0o444 }

// ModTime implements fs.FileInfo.
func (f *file) ModTime() time.Time { return time.Time{} }

// IsDir implements fs.FileInfo.
func (f *file) IsDir() bool { return false }

// Sys implements fs.FileInfo.
func (f *file) Sys() any { return nil }
