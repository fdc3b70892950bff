package mount

// Verbs of Op.
const (
	VerbMount   = "mount"
	VerbUnmount = "unmount"
	// VerbLook is every question about one path: is it a mount point, and where
	// else is it mounted.
	VerbLook = "look"
)

// Op is one call of a mounter, as the function given to Failing sees it.
type Op struct {
	// Verb is one of the constants.
	Verb string
	// Source is a node path, empty unless mounting. Target is one too.
	Source, Target string
	Options        []string
}

// Failing returns a mounter that asks fail before every call about one path. An error
// from it is the outcome, and nothing happens: syscall.EBUSY makes a mount busy,
// syscall.ESTALE or another of IsCorrupted's a mount corrupted. It is for tests.
func Failing(mounter Interface, fail func(Op) error) Interface { return &failing{mounter, fail} }

type failing struct {
	Interface
	fail func(Op) error
}

func (f *failing) Mount(source, target, fstype string, options []string) error {
	if err := f.fail(Op{Verb: VerbMount, Source: source, Target: target, Options: options}); err != nil {
		return err
	}
	return f.Interface.Mount(source, target, fstype, options)
}

func (f *failing) MountSensitive(source, target, fstype string, options, sensitiveOptions []string) error {
	if err := f.fail(Op{Verb: VerbMount, Source: source, Target: target, Options: options}); err != nil {
		return err
	}
	return f.Interface.MountSensitive(source, target, fstype, options, sensitiveOptions)
}

func (f *failing) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitiveOptions []string) error {
	if err := f.fail(Op{Verb: VerbMount, Source: source, Target: target, Options: options}); err != nil {
		return err
	}
	return f.Interface.MountSensitiveWithoutSystemd(source, target, fstype, options, sensitiveOptions)
}

func (f *failing) MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options, sensitiveOptions, mountFlags []string) error {
	if err := f.fail(Op{Verb: VerbMount, Source: source, Target: target, Options: options}); err != nil {
		return err
	}
	return f.Interface.MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype, options, sensitiveOptions, mountFlags)
}

func (f *failing) Unmount(target string) error {
	if err := f.fail(Op{Verb: VerbUnmount, Target: target}); err != nil {
		return err
	}
	return f.Interface.Unmount(target)
}

func (f *failing) look(target string) error { return f.fail(Op{Verb: VerbLook, Target: target}) }

func (f *failing) IsMountPoint(file string) (bool, error) {
	if err := f.look(file); err != nil {
		return false, err
	}
	return f.Interface.IsMountPoint(file)
}

func (f *failing) IsLikelyNotMountPoint(file string) (bool, error) {
	if err := f.look(file); err != nil {
		return true, err
	}
	return f.Interface.IsLikelyNotMountPoint(file)
}

func (f *failing) GetMountRefs(pathname string) ([]string, error) {
	if err := f.look(pathname); err != nil {
		return nil, err
	}
	return f.Interface.GetMountRefs(pathname)
}
