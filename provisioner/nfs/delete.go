package nfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/trace"
)

// ArchivePrefix begins the names of directories that are kept of deleted volumes.
const ArchivePrefix = "archived-"

// Delete removes the volume's directory, renames it or leaves it, as the class
// says.
//
// Upstream: provisioner.go Delete, v4.0.18.
func (p *subdir) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	dir, err := p.directoryOf(volume)
	if err != nil {
		return err
	}
	exists, err := p.exists(dir)
	if err != nil {
		return err
	}
	if !exists {
		p.trace(trace.Decision{About: trace.RefOf("PersistentVolume", volume), Text: fmt.Sprintf(
			"path %s does not exist, deletion skipped", path.Join(mountPath, dir))})
		return nil
	}
	onDelete, err := p.onDelete(ctx, volume)
	if err != nil {
		return err
	}
	switch onDelete {
	case onDeleteRetain:
		p.trace(trace.Decision{About: trace.RefOf("PersistentVolume", volume), Text: fmt.Sprintf(
			"leaves %s on NFS server %s, since %s is %s", path.Join(p.cfg.Path, dir), p.cfg.Server, paramOnDelete, onDeleteRetain)})
		p.report(trace.Kept, dir, volume.Name)
		return nil
	case onDeleteDelete:
		if err := p.change("rm -rf", dir, "", func(export Directory) error { return export.RemoveAll("/" + dir) }); err != nil {
			return err
		}
		p.report(trace.Removed, dir, volume.Name)
		return nil
	}
	archived := ArchivePrefix + path.Base(dir)
	err = p.change("mv", dir, archived, func(export Directory) error {
		if _, err := export.Lstat("/" + archived); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("rename %s: %s: %w", dir, archived, fs.ErrExist))
		}
		return export.Rename("/"+dir, "/"+archived)
	})
	if err != nil {
		return err
	}
	p.report(trace.Removed, dir, volume.Name)
	p.report(trace.Kept, archived, volume.Name)
	return nil
}

// directoryOf returns the volume's directory in the export.
func (p *subdir) directoryOf(volume *v1.PersistentVolume) (string, error) {
	source := volume.Spec.NFS
	if source == nil {
		return "", fmt.Errorf("volume %s has no nfs source", volume.Name)
	}
	export := strings.TrimSuffix(p.cfg.Path, "/") + "/"
	dir, ok := strings.CutPrefix(path.Clean(source.Path), export)
	if !ok || source.Server != p.cfg.Server || slices.Contains(strings.Split(source.Path, "/"), "..") {
		return "", fmt.Errorf("volume %s is %s:%s, which is not a directory in the export %s:%s", volume.Name, source.Server, source.Path, p.cfg.Server, p.cfg.Path)
	}
	return dir, nil
}

func (p *subdir) exists(dir string) (bool, error) {
	export, err := p.cfg.Mount()
	if err != nil {
		return false, err
	}
	_, err = export.Lstat("/" + dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, export.Close()
	}
	return err == nil, errors.Join(err, export.Close())
}

// onDelete reads the volume's class, which says what to do.
//
// Upstream: provisioner.go getClassForVolume, v4.0.18.
func (p *subdir) onDelete(ctx context.Context, volume *v1.PersistentVolume) (string, error) {
	name := binding.GetPersistentVolumeClass(volume)
	if name == "" {
		return "", fmt.Errorf("volume %s has no storage class", volume.Name)
	}
	class, err := p.client.StorageV1().StorageClasses().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return parseSubdirParameters(class)
}
