// Package mountinfo reads the kernel's table of mounts, which Linux has in /proc/PID/mountinfo.
package mountinfo

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Mount is one line of the table.
type Mount struct {
	// ID is the kernel's number for the mount. Device is "major:minor", Root the directory in it that is mounted, Path
	// where this computer has it.
	ID, Device, Root, Path string
	Options                []string
	FSType, Source         string
	Shared                 bool
}

// Table holds mounts in the order in which they were mounted.
type Table []Mount

// Read reads the table that a process sees, by its number or "self". It fails where there is none, as on macOS and
// Windows, and in a sandbox without /proc.
func Read(process string) (Table, error) {
	data, err := os.ReadFile("/proc/" + process + "/mountinfo")
	if err != nil {
		return nil, err
	}
	var table Table
	for line := range strings.Lines(string(data)) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 6 || len(rest) < 2 {
			continue
		}
		table = append(table, Mount{
			ID: fields[0], Device: fields[2], Root: unescape(fields[3]), Path: unescape(fields[4]), Options: strings.Split(fields[5], ","),
			FSType: rest[0], Source: unescape(rest[1]),
			Shared: slices.ContainsFunc(fields[6:], func(f string) bool { return strings.HasPrefix(f, "shared:") }),
		})
	}
	return table, nil
}

// unescape undoes what the kernel does to blanks, \040 and the like.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// IDs returns the kernel's numbers of the mounts.
func (t Table) IDs() []string {
	ids := make([]string, len(t))
	for i := range t {
		ids[i] = t[i].ID
	}
	return ids
}

// Containing returns the mount that a path is in: the last one of those with the
// longest path, which is on top.
func (t Table) Containing(name string) (best *Mount) {
	for i := range t {
		if _, ok := Below(name, t[i].Path); ok && (best == nil || len(t[i].Path) >= len(best.Path)) {
			best = &t[i]
		}
	}
	return best
}

// In returns the mounts on a directory and below it, the last one first: the order in which they
// can be unmounted.
func (t Table) In(dir string) (found Table) {
	for _, m := range slices.Backward(t) {
		if _, ok := Below(m.Path, dir); ok {
			found = append(found, m)
		}
	}
	return found
}

// Paths returns the mount points on this computer.
func (t Table) Paths() []string {
	paths := make([]string, len(t))
	for i := range t {
		paths[i] = t[i].Path
	}
	return paths
}

// inMemory reports whether the files are gone after the last unmount.
func (m *Mount) inMemory() bool { return m.FSType == "tmpfs" || m.FSType == "ramfs" }

// Keep returns the mounts in a directory that must not end: those with the numbers in but, those whose end would lose
// files, which are of file systems in memory that are mounted nowhere else, and the mounts that these lie in.
func (t Table) Keep(dir string, but []string) (kept Table) {
	within := t.In(dir) // what lies in a mount comes before it
	for i, m := range within {
		elsewhere := slices.ContainsFunc(t, func(other Mount) bool {
			_, ok := Below(other.Path, dir)
			return !ok && other.Device == m.Device
		})
		holds := slices.ContainsFunc(kept, func(inner Mount) bool {
			_, ok := Below(inner.Path, m.Path)
			return ok
		})
		if holds || m.inMemory() && !elsewhere || slices.Contains(but, m.ID) {
			kept = append(kept, within[i])
		}
	}
	return kept
}

// Has reports whether the mount with this number is in the table.
func (t Table) Has(id string) bool {
	return slices.ContainsFunc(t, func(m Mount) bool { return m.ID == id })
}

// At returns the path in a mount's device of a path below the mount.
func (m *Mount) At(name string) string {
	rest, _ := Below(name, m.Path)
	return path.Join(m.Root, rest)
}

// Below returns the path from dir down to name, "/" for dir itself.
func Below(name, dir string) (rest string, ok bool) {
	if name == dir {
		return "/", true
	}
	rest, ok = strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
	return "/" + rest, ok
}
