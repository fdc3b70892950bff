package show

import (
	"errors"
	"strings"
)

var errNotRefused = errors.New("the write was not refused")

// Export sets an NFS server up, if it is not there yet, and has it export a
// directory, as its administrator would.
func (s *Show) Export(server, path string) {
	s.command("%s$ mkdir -p %s && exportfs '*:%s'\n", server, path, path) // the command's name
	if s.cluster.Machine("nfs/"+server).NFSServer() == nil {
		_, err := s.cluster.AddNFSServer(server)
		s.Try(err)
	}
	if s.err == nil {
		s.Try(s.cluster.Machine("nfs/" + server).NFSServer().Export(path))
	}
}

// WriteOn writes a line into a file of a node ("node/node-1") or an NFS server
// ("nfs/nas"), as its administrator would.
func (s *Show) WriteOn(where, path, line string) {
	s.command("%s$ echo '%s' > %s\n", host(where), line, path)
	s.Try(s.cluster.Machine(where).WriteFile(path, line+"\n"))
}

// LsOn lists a directory of a node, an NFS server or a pod ("pod/web"), as a shell
// there would.
func (s *Show) LsOn(where, path string) {
	names, err := s.cluster.Machine(where).ListDir(path)
	s.Try(err)
	s.command("%s$ ls -A %s\n", host(where), path)
	for _, name := range names {
		s.Printf("%s\n", name)
	}
}

// CatOn prints a file of a node, an NFS server or a pod, as a shell there would.
func (s *Show) CatOn(where, path string) {
	data, err := s.cluster.Machine(where).ReadFile(path)
	s.Try(err)
	s.command("%s$ cat %s\n", host(where), path)
	s.print(data)
}

// RefusedOn tries to write a file and prints the error, as a shell there would; it
// is an error if there is none.
func (s *Show) RefusedOn(where, path string) {
	err := s.cluster.Machine(where).WriteFile(path, "")
	if err == nil {
		s.Try(errNotRefused)
		return
	}
	s.command("%s$ touch %s\ntouch: cannot touch '%s': %v\n", host(where), path, path, errors.Unwrap(err)) // without the name of the machine
}

// host returns the host name in the prompt of a place.
func host(where string) string {
	_, name, _ := strings.Cut(where, "/")
	return name
}
