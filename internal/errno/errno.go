// Package errno gives errors of system calls the words that Linux has for them, since
// nodes are Linux machines wherever the simulation runs: the same seed tells the same
// story on Linux, macOS and Windows and in a browser.
package errno

import "syscall"

// words are glibc's, as Go spells them.
var words = map[syscall.Errno]string{
	syscall.EACCES:       "permission denied",
	syscall.EADDRINUSE:   "address already in use",
	syscall.EBUSY:        "device or resource busy",
	syscall.EDQUOT:       "disk quota exceeded",
	syscall.EEXIST:       "file exists",
	syscall.EINVAL:       "invalid argument",
	syscall.EIO:          "input/output error",
	syscall.EISDIR:       "is a directory",
	syscall.ELOOP:        "too many levels of symbolic links",
	syscall.ENAMETOOLONG: "file name too long",
	syscall.ENODEV:       "no such device",
	syscall.ENOENT:       "no such file or directory",
	syscall.ENOSPC:       "no space left on device",
	syscall.ENOTCONN:     "transport endpoint is not connected",
	syscall.ENOTDIR:      "not a directory",
	syscall.ENOTEMPTY:    "directory not empty",
	syscall.EPERM:        "operation not permitted",
	syscall.EROFS:        "read-only file system",
	syscall.ESTALE:       "stale file handle",
	syscall.EXDEV:        "invalid cross-device link",
}

// worded is an error number with the text that Linux has for it.
type worded struct {
	syscall.Errno
	text string
}

func (w worded) Error() string { return w.text }
func (w worded) Unwrap() error { return w.Errno }

// Linux returns err with Linux's words if it is an error number that has other words on this
// operating system; errors.Is finds the number in it. It returns any other error unchanged.
func Linux(err error) error {
	number, ok := err.(syscall.Errno) //nolint:errorlint // what wraps a number has words of its own
	if !ok {
		return err
	}
	if text, known := words[number]; known && text != number.Error() {
		return worded{number, text}
	}
	return err
}
