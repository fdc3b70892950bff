package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/mayfail"
	"github.com/storagesim/storagesim/provisioner"
)

// backend holds the disks. It does not crash when the provisioner does.
type backend struct {
	mu    sync.Mutex
	disks []string
	next  int
}

func (b *backend) make(disk string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.disks, disk) {
		b.disks = append(b.disks, disk)
	}
}

// remove reports whether there was such a disk.
func (b *backend) remove(disk string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.disks)
	b.disks = slices.DeleteFunc(b.disks, func(d string) bool { return d == disk })
	return len(b.disks) < before
}

func (b *backend) newName() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return fmt.Sprintf("disk-%d", b.next)
}

// mistakes are the bugs of a provisioner; with all false it is correct.
type mistakes struct {
	newDiskEachTime bool // Provision makes another disk when it is called again
	deleteOnce      bool // Delete fails if the disk is gone already
	namedByClaim    bool // a disk has the name of its claim, which another claim can have later
	trustsErrors    bool // a disk whose making failed is taken for one that was not made, and the next gets another name
}

// disks is a provisioner such as you might write.
type disks struct {
	*backend
	mistakes
	failed int // calls that failed
}

// Provision implements provisioner.Provisioner.
func (p *disks) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	disk := options.PVName
	switch {
	case p.newDiskEachTime:
		disk = p.newName()
	case p.namedByClaim:
		disk = options.PVC.Namespace + "-" + options.PVC.Name
	case p.trustsErrors && p.failed > 0:
		disk = fmt.Sprintf("%s-%d", options.PVName, p.failed)
	}
	err := mayfail.Do(ctx, "disk.make", func() error {
		p.make(disk)
		return nil
	})
	if err != nil {
		p.failed++
		return nil, provisioner.ProvisioningInBackground, err // it may have been made
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      options.PVC.Spec.Resources.Requests,
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/disks/" + disk}},
		},
	}, provisioner.ProvisioningFinished, nil
}

// Delete implements provisioner.Provisioner.
func (p *disks) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	disk := diskOf(volume)
	return mayfail.Do(ctx, "disk.remove", func() error {
		if !p.remove(disk) && p.deleteOnce {
			return fmt.Errorf("there is no disk %s", disk)
		}
		return nil
	})
}

// diskOf returns the disk of a volume.
func diskOf(volume *v1.PersistentVolume) string { return volume.Spec.HostPath.Path[len("/disks/"):] }
