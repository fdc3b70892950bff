//go:build !linux

package outside

import "errors"

func (d *driver) mount(string) error { return errors.ErrUnsupported }

func (d *driver) unmount(string) error { return errors.ErrUnsupported }
