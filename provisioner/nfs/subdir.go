package nfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// SubdirName is the default of Config.Name.
const SubdirName = "k8s-sigs.io/nfs-subdir-external-provisioner"

// kindExport is the kind of object that commands in the trace refer to: the export
// "<server>:<path>".
const kindExport = "Export"

// mountPath is the path at which upstream mounts the export.
const mountPath = "/persistentvolumes"

// Directory is the export as the provisioner sees it, "/" being the export. A
// disk.Disk is one.
type Directory interface {
	// Lstat describes name itself; fs.ErrNotExist if there is none.
	Lstat(name string) (fs.FileInfo, error)
	// MakeDir makes a directory and its parents; one that exists stays.
	MakeDir(name string, mode fs.FileMode) error
	// RemoveAll removes name and all below it.
	RemoveAll(name string) error
	// Rename moves a directory; newname must not exist.
	Rename(oldname, newname string) error
	// Close ends its use.
	Close() error
}

// Config configures the provisioner of subdirectories. All but Name is required.
type Config struct {
	// Name is its name in classes, PROVISIONER_NAME; default SubdirName.
	Name string
	// Server and Path are the server and its export, NFS_SERVER and NFS_PATH.
	Server, Path string
	// Mount opens the export. It is called for each volume to be made or
	// deleted. Default, with Controller: the server mounts Path.
	Mount func() (Directory, error)
}

func (c Config) check() error {
	switch {
	case c.Server == "":
		return errors.New("nfs.Config.Server is empty; it must be the NFS server's name or address")
	case !path.IsAbs(c.Path) || slices.Contains(strings.Split(c.Path, "/"), ".."):
		return fmt.Errorf("nfs.Config.Path is %q; it must be an absolute path without %q", c.Path, "..")
	case c.Mount == nil:
		return errors.New("nfs.Config.Mount is nil; it must open the export")
	}
	return nil
}

// subdir makes a directory of an export for each claim. It keeps nothing in
// memory.
//
// Upstream: cmd/nfs-subdir-external-provisioner/provisioner.go nfsProvisioner,
// v4.0.18.
type subdir struct {
	cfg    Config
	client kubernetes.Interface
	trace  func(trace.Record)
}

var _ provisioner.Provisioner = (*subdir)(nil)

// Export is a directory of an NFS server that can be mounted; nfs.Server of package kubelet/nfs makes them.
type Export interface {
	// Mount opens a directory of the server. Its errors read as those of mount.nfs(8).
	Mount(dir string) (*disk.Disk, error)
}

// Controller returns the provisioner that makes a directory of an export for each claim,
// "k8s-sigs.io/nfs-subdir-external-provisioner" unless cfg.Name says otherwise, for Cluster.AddProvisionController. It mounts cfg.Path
// of the server unless cfg.Mount says otherwise. Its storage classes are yours to apply.
func Controller(server Export, cfg Config) provisioner.Config {
	if cfg.Mount == nil {
		cfg.Mount = func() (Directory, error) {
			export, err := server.Mount(cfg.Path)
			if err != nil {
				return nil, err
			}
			return export, nil
		}
	}
	return provisioner.Config{Name: cmp.Or(cfg.Name, SubdirName), New: NewSubdir(cfg)}
}

// NewSubdir returns a function for provisioner.Config.New, which makes the provisioner each time
// its actor starts. The error of that function says what is wrong with cfg.
func NewSubdir(cfg Config) func(env control.Env) (provisioner.Provisioner, error) {
	return func(env control.Env) (provisioner.Provisioner, error) {
		if err := cfg.check(); err != nil {
			return nil, err
		}
		cfg.Path = path.Clean(cfg.Path)
		return &subdir{cfg: cfg, client: env.Client(), trace: env.Trace}, nil
	}
}

// Provision makes the volume's directory.
//
// Upstream: provisioner.go Provision, v4.0.18.
func (p *subdir) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if err := checkClaim(options.PVC); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	if _, err := parseSubdirParameters(options.StorageClass); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	dir, err := directoryName(options)
	if err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	if err := p.change("mkdir -m 0777 -p", dir, "", func(export Directory) error { return export.MakeDir("/"+dir, 0o777) }); err != nil {
		return nil, provisioner.ProvisioningFinished, fmt.Errorf("unable to create directory to provision new pv: %w", err)
	}
	p.report(trace.Made, dir, options.PVName)
	return persistentVolume(options, &v1.NFSVolumeSource{Server: p.cfg.Server, Path: path.Join(p.cfg.Path, dir)}), provisioner.ProvisioningFinished, nil
}

// report says what became of a directory of the export.
func (p *subdir) report(op trace.AssetOp, dir, volume string) {
	p.trace(trace.Asset{
		Op: op, Machine: "nfs/" + p.cfg.Server, Path: path.Join(p.cfg.Path, dir), Volume: volume, About: trace.Ref{Kind: "PersistentVolume", Name: volume},
	})
}

// change does something to a directory of the export, and puts it into the trace
// as the command that it stands for.
func (p *subdir) change(command, dir, to string, do func(export Directory) error) error {
	argv := append(strings.Fields(command), path.Join(mountPath, dir))
	if to != "" {
		argv = append(argv, path.Join(mountPath, to))
	}
	record := trace.Command{
		About: trace.Ref{Kind: kindExport, Name: p.cfg.Server + ":" + p.cfg.Path}, Argv: argv, Paths: []string{path.Join(p.cfg.Path, dir)},
	}
	export, err := p.cfg.Mount()
	if err == nil {
		err = errors.Join(do(export), export.Close())
	}
	if err != nil {
		record.Err = err.Error()
	}
	p.trace(record)
	return err
}

// What a class can want to be done with the directory of a deleted volume.
const (
	onDeleteDelete = "delete"
	onDeleteRetain = "retain"
	archive        = "archive"
)

// The parameters of its classes.
const (
	paramPathPattern     = "pathPattern"
	paramOnDelete        = "onDelete"
	paramArchiveOnDelete = "archiveOnDelete"
)

// parseSubdirParameters checks the parameters of the class, and returns what happens to the
// directory of a deleted volume.
//
// Upstream: provisioner.go Delete, v4.0.18.
func parseSubdirParameters(class *storagev1.StorageClass) (onDelete string, err error) {
	if err := checkParameters(class, paramPathPattern, paramOnDelete, paramArchiveOnDelete); err != nil {
		return "", err
	}
	archives := true
	if text, ok := class.Parameters[paramArchiveOnDelete]; ok {
		if archives, err = strconv.ParseBool(text); err != nil {
			return "", fmt.Errorf("storage class %s has %s %q; it must be true or false", class.Name, paramArchiveOnDelete, text)
		}
	}
	switch onDelete = class.Parameters[paramOnDelete]; {
	case onDelete == onDeleteDelete || onDelete == onDeleteRetain:
		return onDelete, nil
	case onDelete != "":
		return "", fmt.Errorf("storage class %s has %s %q; it must be %s or %s", class.Name, paramOnDelete, onDelete, onDeleteDelete, onDeleteRetain)
	case archives:
		return archive, nil
	}
	return onDeleteDelete, nil
}
