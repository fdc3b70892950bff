package shell

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// parseMode reads the mode of a new directory: octal, "0777" or "2770", or
// symbolic, "g+s" or "u=rwx,go=rx", which changes a=rwx; a clause without classes of users leaves out the bits of umask.
func parseMode(text string, umask fs.FileMode) (fs.FileMode, error) {
	mode, ok := changeMode(0o777, text, umask)
	if !ok {
		return 0, fmt.Errorf("mkdir: invalid mode '%s': it must be octal, up to 7777, or symbolic, like u=rwx,g+s", text)
	}
	return mode, nil
}

// specialBits maps the special bits of a mode to those of Go.
func specialBits() map[uint64]fs.FileMode {
	return map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky}
}

// changeMode applies text to a mode.
func changeMode(from fs.FileMode, text string, umask fs.FileMode) (mode fs.FileMode, ok bool) {
	bits, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		bits = uint64(from.Perm())
		for bit, special := range specialBits() {
			if from&special != 0 {
				bits |= bit
			}
		}
		if bits, ok = symbolicMode(bits, text, uint64(umask)); !ok {
			return 0, false
		}
	}
	mode = fs.FileMode(bits & 0o777)
	for bit, special := range specialBits() {
		if bits&bit != 0 {
			mode |= special
		}
	}
	return mode, true
}

// symbolicMode applies clauses like "ug+rw". One without classes of users, as "+x", leaves out the bits of umask.
func symbolicMode(from uint64, text string, umask uint64) (bits uint64, ok bool) {
	bits = from
	for clause := range strings.SplitSeq(text, ",") {
		at := strings.IndexAny(clause, "+-=")
		if at < 0 {
			return 0, false
		}
		who, op, permissions := clause[:at], clause[at], clause[at+1:]
		without := uint64(0)
		if who == "" {
			who = "a"
			without = umask // a clause without classes of users leaves alone what the umask has
		}
		mask, wanted, ok := uint64(0), uint64(0), true
		for _, c := range who {
			switch c {
			case 'u':
				mask |= 0o4700
			case 'g':
				mask |= 0o2070
			case 'o':
				mask |= 0o1007
			case 'a':
				mask |= 0o7777
			default:
				return 0, false
			}
		}
		for _, c := range permissions {
			bit, known := map[rune]uint64{'r': 0o444, 'w': 0o222, 'x': 0o111, 'X': 0o111, 's': 0o6000, 't': 0o1000}[c]
			wanted, ok = wanted|bit, ok && known
		}
		if !ok {
			return 0, false
		}
		if strings.ContainsRune(permissions, 't') {
			mask |= 0o1000 // of no class of users
		}
		mask &^= without
		switch op {
		case '+':
			bits |= wanted & mask
		case '-':
			bits &^= wanted & mask
		default:
			bits = bits&^mask | wanted&mask
		}
	}
	return bits, true
}
