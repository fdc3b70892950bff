package nfs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/storagesim/storagesim/machine/disk"
)

// Server is an NFS server: its disk, and which directories of it nodes may mount.
type Server struct {
	name    string
	disk    *disk.Disk
	exports []string
}

// NewServer makes a server on a directory, which Close closes. name is its name in
// volumes, a DNS name or an IP address. Exports are absolute paths; each is
// made if there is no such directory, writable for every user.
func NewServer(name string, disk *disk.Disk, exports ...string) (*Server, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	s := &Server{name: name, disk: disk}
	for _, export := range exports {
		if err := s.Export(export); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// CheckName says why an NFS server cannot have that name, nil if it can.
func CheckName(name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	if msgs := validation.NameIsDNSSubdomain(name, false); len(msgs) > 0 {
		return fmt.Errorf("%q is neither an IP address nor a DNS name: %s", name, strings.Join(msgs, "; "))
	}
	return nil
}

// Name returns the server's name.
func (s *Server) Name() string { return s.name }

// Disk returns the server's own file system, of which the exports are part.
func (s *Server) Disk() *disk.Disk { return s.disk }

// Exports returns the directories that can be mounted, with all below them, sorted.
func (s *Server) Exports() []string { return slices.Clone(s.exports) }

// Export lets nodes mount a directory, which is made if there is none.
func (s *Server) Export(dir string) error {
	if err := disk.Check(dir); err != nil {
		return fmt.Errorf("NFS server %s: export %q: %w", s.name, dir, err)
	}
	dir = path.Clean(dir)
	if dir != "/" {
		if err := s.disk.MakeDir(dir, 0o777); err != nil {
			return fmt.Errorf("NFS server %s: export %q: %w", s.name, dir, err)
		}
	}
	if !slices.Contains(s.exports, dir) {
		s.exports = append(s.exports, dir)
		slices.Sort(s.exports)
	}
	return nil
}

// Unexport refuses mounts of a directory from now on. What is mounted stays.
func (s *Server) Unexport(dir string) {
	s.exports = slices.DeleteFunc(s.exports, func(e string) bool { return e == path.Clean(dir) })
}

// Close closes the server's disk.
func (s *Server) Close() error { return s.disk.Close() }

// Mount opens an exported directory, or one below it, as mount.nfs(8) would, whose errors its own read as.
func (s *Server) Mount(dir string) (*disk.Disk, error) {
	host := s.name
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return s.mount(host+":"+dir, dir)
}

// mount returns the directory at an exported path as a file system of its own.
func (s *Server) mount(source, dir string) (*disk.Disk, error) {
	if !s.Offers(dir) {
		return nil, fmt.Errorf("mount.nfs: access denied by server while mounting %s", source)
	}
	info, err := s.disk.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("mount.nfs: mounting %s failed, reason given by server: No such file or directory", source)
	case err != nil:
		return nil, fmt.Errorf("mount.nfs: mounting %s failed, reason given by server: %w", source, err)
	case !info.IsDir():
		return nil, fmt.Errorf("mount.nfs: mounting %s failed, reason given by server: Not a directory", source)
	}
	return s.disk.Sub(dir)
}

// Offers reports whether a directory may be mounted: an exported one, or one below it,
// whether it is there or not.
func (s *Server) Offers(dir string) bool {
	return disk.Check(dir) == nil && slices.ContainsFunc(s.exports, func(export string) bool {
		return path.Clean(dir) == export || strings.HasPrefix(path.Clean(dir), strings.TrimSuffix(export, "/")+"/")
	})
}

// Network is the NFS servers that nodes can reach. The zero value has none.
type Network struct {
	servers []*Server // in order of name
}

// Add adds a server. Its name must be new.
func (n *Network) Add(s *Server) error {
	if n.Server(s.name) != nil {
		return fmt.Errorf("there are two NFS servers called %q", s.name)
	}
	n.servers = append(n.servers, s)
	slices.SortFunc(n.servers, func(a, b *Server) int { return strings.Compare(a.name, b.name) })
	return nil
}

// Server returns the server of that name, nil if there is none. An IP address can be
// written in any way.
func (n *Network) Server(name string) *Server {
	for _, s := range n.servers {
		if canonical(s.name) == canonical(name) {
			return s
		}
	}
	return nil
}

// Servers returns all, in order of name.
func (n *Network) Servers() []*Server { return slices.Clone(n.servers) }

func canonical(name string) string {
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Unmap().String()
	}
	return strings.ToLower(name)
}

// Mount finds what "server:path" is, for mount.Config.Remote. An IPv6 address is
// in brackets. Its errors read as those of mount.nfs(8).
func (n *Network) Mount(fstype, source string) (*disk.Disk, error) {
	if fstype != fsType {
		return nil, fmt.Errorf("mount: unknown filesystem type '%s'", fstype)
	}
	name, dir, ok := SplitSource(source)
	if !ok {
		return nil, fmt.Errorf("mount.nfs: remote share not in 'host:dir' format: %s", source)
	}
	if s := n.Server(name); s != nil {
		return s.mount(source, dir)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return nil, fmt.Errorf("mount.nfs: Connection timed out for %s", source)
	}
	return nil, fmt.Errorf("mount.nfs: Failed to resolve server %s: Name or service not known", name)
}

// SplitSource takes "server:path" or "[IPv6]:path" apart, as mount.nfs(8) does.
func SplitSource(source string) (server, dir string, ok bool) {
	if rest, bracket := strings.CutPrefix(source, "["); bracket {
		server, dir, ok = strings.Cut(rest, "]:")
	} else {
		server, dir, ok = strings.Cut(source, ":")
	}
	return server, dir, ok && server != ""
}
