package storagesim

import (
	"fmt"
	"path"
	"strings"

	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
	"github.com/storagesim/storagesim/trace"
)

// exports finds what provisioners made on NFS servers and no volume uses. What a
// class wants to be left behind is none.
func (l *leakFinder) exports() error {
	type place struct{ server, dir string }
	makers := map[place]string{}
	var made []place
	for _, entry := range l.engine.Trace().Entries() {
		switch r := entry.Record.(type) {
		case nfsprovisioner.Retained:
			delete(makers, place{r.Server, r.Path})
		case trace.Command:
			if r.About.Kind != nfsprovisioner.KindExport || r.Argv[0] != "mkdir" || r.Err != "" || !l.isProvisioner(entry.Actor) {
				continue
			}
			server, _, _ := strings.Cut(r.About.Name, ":/")
			for _, dir := range r.Paths {
				makers[place{server, dir}] = entry.Actor
				made = append(made, place{server, dir})
			}
		}
	}
	for _, at := range made {
		maker, server := makers[at], l.nfs.Server(at.server)
		if maker == "" || server == nil || l.isExportUsed(at.server, at.dir) {
			continue
		}
		delete(makers, at) // made twice, reported once
		there, err := isThere(server.Disk(), at.dir)
		if err != nil {
			return fmt.Errorf("NFS server %s: %w", at.server, err)
		}
		if there {
			l.add(maker, "directory %s on NFS server %s, which no volume uses", at.dir, at.server)
			l.leaks[len(l.leaks)-1].Known = l.known(maker, 0, at.dir)
		}
	}
	return nil
}

// isExportUsed says whether a volume is that directory of a server.
func (l *leakFinder) isExportUsed(server, dir string) bool {
	for _, pv := range l.volumeList {
		if source := pv.Spec.NFS; source != nil && source.Server == server && path.Clean(source.Path) == dir {
			return true
		}
	}
	return false
}
