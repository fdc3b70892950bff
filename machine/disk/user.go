package disk

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// User has the numbers by which the kernel decides which files a program may use. Root, 0, may use all.
type User struct {
	UID, GID int
	// Groups are the groups beside GID.
	Groups []int
}

// in reports whether the user is in a group.
func (u *User) in(gid int) bool { return gid == u.GID || slices.Contains(u.Groups, gid) }

// Access lists the rights to a file that a user wants, as in access(2).
type Access uint32

// What a user can want. Search is Execute of a directory.
const (
	Execute Access = 1
	Write   Access = 2
	Read    Access = 4
	Search  Access = Execute
)

// may reports whether a file's mode allows the user this. It does where the file's owner could not be set.
//
// Linux: fs/namei.c generic_permission, acl_permission_check.
func (u *User) may(info fs.FileInfo, want Access) bool {
	mode, kept := Access(info.Mode().Perm()), ownerKept(info)
	switch {
	case !kept, u.UID == 0:
		return want&Execute == 0 || info.IsDir() || mode&0o111 != 0
	case u.owns(info):
		mode >>= 6
	case u.in(groupOf(info)):
		mode >>= 3
	}
	return mode&want == want
}

// owns reports whether the file is the user's, as root's and one whose owner could not be set are.
func (u *User) owns(info fs.FileInfo) bool {
	uid, _, _ := Owner(info)
	return u.UID == 0 || uid == u.UID || !ownerKept(info)
}

func groupOf(info fs.FileInfo) int {
	_, gid, _ := Owner(info)
	return gid
}

// unowned describes a file on a disk that does not keep owners.
type unowned struct{ fs.FileInfo }

// ownerKept reports whether a file has the owner that was set.
func ownerKept(info fs.FileInfo) bool {
	_, lost := info.(unowned)
	return !lost
}

// KeepsOwners reports whether files on the disk have the owners that are set: in memory always, in a directory of the machine that
// runs the simulation only if this process may change owners. Where they have not, a User may use all files.
func (d *Disk) KeepsOwners() bool { return d.owners }

// As lets a user do all that is done with d from now on. If the modes and owners of the files do not allow it, it fails with EACCES
// or EPERM, as on Linux, and what he makes is his. nil is root. With file only a file of d is seen, which is
// mounted somewhere: no right is needed to search the directory that the file is in. It is not inherited by a Sub, and must not be called
// while others use d.
func (d *Disk) As(user *User, file bool) {
	if user != nil && user.UID == 0 && user.GID == 0 {
		user = nil
	}
	d.user, d.file = user, file
}

// Access returns an error unless the user of d may do this with what name leads to, which is to exist.
func (d *Disk) Access(name string, want Access) error {
	if d.user == nil && want&Execute == 0 {
		return nil
	}
	info, err := d.follow(name)
	if err == nil && !orRoot(d.user).may(info, want) {
		err = syscall.EACCES
	}
	return explain("access", name, err)
}

// Owns returns an error unless the user of d owns what name leads to, or is root.
func (d *Disk) Owns(name string) error {
	if d.user == nil {
		return nil
	}
	info, err := d.follow(name)
	if err == nil && !d.user.owns(info) {
		err = syscall.EPERM
	}
	return explain("access", name, err)
}

// follow describes what name leads to.
func (d *Disk) follow(name string) (fs.FileInfo, error) {
	if d.user == nil {
		return d.Stat(name)
	}
	if _, err := local("access", name); err != nil {
		return nil, err
	}
	s, err := d.seek(name, true)
	if err == nil && s.info == nil {
		err = syscall.ENOENT
	}
	return s.info, err
}

// orRoot returns the user, or root for nil.
func orRoot(u *User) *User {
	if u == nil {
		return &User{}
	}
	return u
}

// doAs works as do, for a user.
func (d *Disk) doAs(op, name string, f func(d *Disk, rel string) error) error {
	if _, err := local(op, name); err != nil {
		return err
	}
	s, err := d.seek(name, follows(op))
	makes := false
	if err == nil {
		makes, err = d.permit(op, s)
	}
	if err != nil {
		return explain(op, name, err)
	}
	err = d.perform(op, name, f)
	if makes {
		d.give(s)
	}
	return err
}

// permit decides whether the user may do op with what was found, once he has got there. makes says that op makes the file.
//
// Linux: fs/namei.c may_create, may_delete, may_open; fs/attr.c setattr_prepare.
func (d *Disk) permit(op string, s sought) (makes bool, err error) {
	wants := func(info fs.FileInfo, want Access) error {
		if info == nil || d.user.may(info, want) {
			return nil
		}
		return syscall.EACCES
	}
	switch there := s.info != nil; op {
	case "mkdir", "symlink", "socket":
		if !there { // else it exists already, and that is the error
			return true, wants(s.in, Write|Search)
		}
	case "write":
		if !there {
			return true, wants(s.in, Write|Search)
		}
		if !s.info.IsDir() { // which no user can write
			return false, wants(s.info, Write)
		}
	case "read", "readdir":
		return false, wants(s.info, Read)
	case "remove", "rename":
		if !there && op == "remove" {
			return false, nil
		}
		err := wants(s.in, Write|Search)
		if err == nil && there && s.in != nil && s.in.Mode()&fs.ModeSticky != 0 && !d.user.owns(s.in) && !d.user.owns(s.info) {
			err = syscall.EPERM
		}
		return false, err
	case "chmod":
		if there && !d.user.owns(s.info) {
			return false, syscall.EPERM
		}
	case "setproject", "setquota":
		if d.user.UID != 0 {
			return false, syscall.EPERM
		}
	}
	return false, nil
}

// permitChown decides whether the user may change an owner: to another user only root may, to another group the owner may if he is in it.
//
// Linux: fs/attr.c chown_ok, chgrp_ok.
func (d *Disk) permitChown(name string, uid, gid int) error {
	if _, err := local("lchown", name); err != nil {
		return err
	}
	s, err := d.seek(name, false)
	if err != nil || s.info == nil || d.user.UID == 0 || uid == -1 && gid == -1 {
		return explain("lchown", name, err)
	}
	info := s.info
	if !d.user.owns(info) || uid != -1 && uid != d.user.UID || gid != -1 && gid != groupOf(info) && !d.user.in(gid) {
		return explain("lchown", name, syscall.EPERM)
	}
	return nil
}

// give makes the user the owner of a file that he has made, and its group his, if the directory does not give it another.
//
// Linux: fs/inode.c inode_init_owner.
func (d *Disk) give(s sought) {
	gid := d.user.GID
	if s.in != nil && s.in.Mode()&fs.ModeSetgid != 0 {
		gid = -1
	}
	uid := d.user.UID
	_ = d.perform("lchown", s.name, func(d *Disk, rel string) error { // it was not made, or owners are not kept here
		return d.store.Lchown(rel, uid, gid)
	})
}

// sought is the end of a path.
type sought struct {
	name string      // without links
	info fs.FileInfo // nil if there is nothing of that name
	in   fs.FileInfo // the directory that it is in; nil for the disk's own
}

// seek goes to name as the user, who needs the right to search each directory on the way; with follow through a link at its end.
//
// Linux: fs/namei.c link_path_walk, may_lookup.
func (d *Disk) seek(name string, follow bool) (s sought, err error) {
	s.name = "/"
	if s.info, err = d.lstat("/"); err != nil {
		return s, err
	}
	todo := strings.Split(path.Clean(name)[1:], "/")
	for links := 0; len(todo) > 0; {
		element := todo[0]
		todo = todo[1:]
		switch {
		case element == "" || element == ".":
			continue
		case s.info == nil:
			return s, syscall.ENOENT
		case !s.info.IsDir():
			return s, syscall.ENOTDIR
		case !(d.file && s.name == "/") && !d.user.may(s.info, Search):
			return s, syscall.EACCES
		}
		if element == ".." {
			s.name = path.Dir(s.name)
			if s.info, err = d.lstat(s.name); err != nil {
				return s, err
			}
			s.in = nil
			continue
		}
		at := path.Join(s.name, element)
		info, err := d.lstat(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 || len(todo) == 0 && !follow {
			s = sought{at, info, s.info}
			continue
		}
		text := ""
		err = d.perform("readlink", at, func(d *Disk, rel string) error { text, err = d.store.Readlink(rel); return err })
		if links++; err == nil && links > maxLinks {
			err = syscall.ELOOP
		}
		if err == nil && path.IsAbs(text) {
			err = ErrOutside
		}
		if err != nil {
			return s, err
		}
		todo = append(strings.Split(text, "/"), todo...)
	}
	return s, nil
}

// lstat works as Lstat, for any user.
func (d *Disk) lstat(name string) (info fs.FileInfo, err error) {
	err = d.perform("lstat", name, func(d *Disk, rel string) error {
		info, err = described(d.store.Lstat(rel))
		if err == nil && !d.owners {
			info = unowned{info}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// permitMove decides whether the user may move a file. A directory that gets into another one changes itself.
//
// Linux: fs/namei.c do_renameat2, vfs_rename.
func (d *Disk) permitMove(oldname, newname string) error {
	if err := firstError(Check(oldname), Check(newname)); err != nil {
		return err
	}
	from, err := d.seek(oldname, false)
	if err != nil {
		return explain("rename", oldname, err)
	}
	to, err := d.seek(newname, false)
	switch {
	case err != nil:
	case from.info == nil:
		err = syscall.ENOENT
	default:
		_, err = d.permit("rename", from)
		if err == nil {
			_, err = d.permit("rename", to)
		}
		if err == nil && from.info.IsDir() && path.Dir(from.name) != path.Dir(to.name) && !d.user.may(from.info, Write) {
			err = syscall.EACCES
		}
	}
	return explain("rename", oldname, err)
}

// makeAll works as MkdirAll, for a user.
func (d *Disk) makeAll(name string, perm fs.FileMode) error {
	info, err := d.Stat(name)
	if err == nil && info.IsDir() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if parent := path.Dir(path.Clean(name)); err != nil && parent != "/" {
		if err := d.makeAll(parent, perm); err != nil {
			return err
		}
	}
	return d.Mkdir(name, perm)
}

// removeTree works as RemoveAll, for a user: he needs the right to change each directory in the tree.
func (d *Disk) removeTree(name string) error {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		var entries []fs.DirEntry
		entries, err = d.ReadDir(name)
		for _, e := range entries {
			err = firstError(err, d.removeTree(path.Join(name, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return d.Remove(name)
}
