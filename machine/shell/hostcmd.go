package shell

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// nsenter runs a command with the node's files in place of the container's: "nsenter --mount=/rootfs/proc/1/ns/mnt -- ls /" where the
// node's "/" is mounted at /rootfs, as a privileged pod does to reach its node. It must be the container's own command or that of an
// exec, since a script keeps files of the container open. The node's files can be written also if the container has them read-only. All goes
// through the node's disk, as with any hostPath volume.
func nsenter(p *Process) error {
	namespace, argv, err := nsenterArgs(p.Argv[1:])
	if err != nil {
		return err
	}
	if !p.top {
		return errors.New("nsenter: this simulation runs it only as the command of a container or of an exec, not in a script")
	}
	files := p.program.files
	m, rest, ok := FindMount(files.mounts, p.Path(namespace))
	switch {
	case !ok || m.root != nil || m.Block || rest != "/proc/1/ns/mnt" || path.Join("/", m.VolumePath, m.SubPath) != "/":
		return fmt.Errorf("nsenter: cannot open %s: no such file or directory; "+
			"this simulation knows DIR/proc/1/ns/mnt, where the node's / is mounted at DIR", namespace)
	case files.user != nil:
		return fmt.Errorf("nsenter: cannot open %s: permission denied", namespace)
	case !p.program.cfg.Privileged:
		return errors.New("nsenter: reassociate to namespaces failed: operation not permitted; the container is not privileged")
	}
	m.ContainerPath, m.ReadOnly = "/", false // of the container's mount
	root := &Root{Now: p.Now, Volumes: []Mount{m}}
	files.root, files.mounts, p.Dir = root, root.over(), "/"
	return p.become(argv, p.Env)
}

// nsenterArgs returns the file of --mount, and the command.
func nsenterArgs(args []string) (namespace string, argv []string, err error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option, value, ok := strings.Cut(args[0], "=")
		switch args = args[1:]; {
		case option == "--":
			return namespace, args, nsenterNeeds(namespace, args)
		case (option == "--mount" || option == "-m") && ok:
			namespace = value
		default:
			return "", nil, fmt.Errorf("nsenter: %s: this simulation knows --mount=FILE only", option)
		}
	}
	return namespace, args, nsenterNeeds(namespace, args)
}

func nsenterNeeds(namespace string, argv []string) error {
	if namespace == "" || len(argv) == 0 {
		return errors.New("nsenter: --mount=FILE and a command are wanted")
	}
	return nil
}

// sectorSize is the number of bytes of a sector of a block device.
const sectorSize = 512

// blockdev prints the sizes of block devices.
func blockdev(p *Process) error {
	if len(p.Argv) < 3 {
		return errors.New("blockdev: an option and a device are wanted")
	}
	var errs []error
	for _, name := range p.Argv[2:] {
		info, err := p.lookAt(name, false)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("blockdev: cannot open %s: %w", name, reason(err)))
			continue
		case !isBlockMode(info.Mode()):
			errs = append(errs, fmt.Errorf("blockdev: ioctl error on %s: inappropriate ioctl for device", name))
			continue
		}
		switch p.Argv[1] {
		case "--getss", "--getpbsz":
			err = p.printf("%d\n", sectorSize)
		case "--getbsz":
			err = p.printf("%d\n", blockSize)
		case "--getsize64":
			err = p.printf("%d\n", info.Size())
		case "--getsz":
			err = p.printf("%d\n", info.Size()/sectorSize)
		default:
			return fmt.Errorf("blockdev: %s: this simulation knows --getss, --getpbsz, --getbsz, --getsize64 and --getsz", p.Argv[1])
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// statSpace describes the file systems that files are on: stat -f.
func statSpace(p *Process, flags map[string]string, names []string) error {
	format, given := flags["c"]
	if !given {
		format = "  File: \"%n\"\n    Type: %T\nBlock size: %s\nBlocks: Total: %b       Free: %f       Available: %a"
	}
	if len(names) == 0 {
		return errors.New("stat: missing operand")
	}
	var errs []error
	for _, name := range names {
		text, err := p.spaceText(format, name)
		if err == nil {
			err = p.printf("%s\n", text)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// spaceText returns what stat -f prints for the file system that name is on: the sizes of df, in blocks.
func (p *Process) spaceText(format, name string) (string, error) {
	if _, err := p.lookAt(name, false); err != nil {
		return "", cannot("stat", "cannot read file system information for", name, err)
	}
	m, _, _ := FindMount(p.program.files.mounts, p.program.files.follow(p.Path(name), true)) // what exists is in a mount
	size, used, err := p.space(name, m)
	if err != nil {
		return "", err
	}
	const kib = blockSize / 1024
	_, fsType := m.device()
	free := max(0, size-used) / kib
	values := map[string]string{"n": name, "T": fsType, "s": fmt.Sprint(blockSize), "S": fmt.Sprint(blockSize), "b": fmt.Sprint(size / kib),
		"f": fmt.Sprint(free), "a": fmt.Sprint(free)}
	return expandFormat(format, func(directive string) (string, error) {
		if value, ok := values[directive]; ok {
			return value, nil
		}
		return "", fmt.Errorf("stat: format %%%s is not supported with -f; the formats are %%n %%T %%s %%S %%b %%f %%a", directive)
	})
}
