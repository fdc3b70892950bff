package storagesim

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// machineTrouble is the faults of all machines. A provisioner with goroutines of its
// own may meet them at any time.
type machineTrouble struct {
	mu     sync.Mutex
	faults []*MachineFault
	paused bool
}

// any says whether there is a fault that may strike.
func (t *machineTrouble) any() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.faults) > 0 && !t.paused
}

// pause has no fault strike, nor count anything, or ends that.
func (t *machineTrouble) pause(paused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = paused
}

// find takes the fault that strikes an operation, nil if none does.
func (t *machineTrouble) find(machine, op string, paths []string) *MachineFault {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, f := range t.faults {
		if !f.matches(machine, op, paths) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		f.struck++
		if f.Times > 0 && f.struck >= f.Times {
			t.faults = slices.Delete(t.faults, i, i+1)
		}
		return f
	}
	return nil
}

func (f *MachineFault) matches(machine, op string, paths []string) bool {
	return (f.Machine == "" || f.Machine == machine) &&
		(f.Op == "" || slices.Contains(machineOps[f.Op], op)) &&
		slices.ContainsFunc(paths, func(name string) bool { return isAtOrBelow(name, f.Path) })
}

// isAtOrBelow says whether a path, or a directory above it, is one that pattern
// stands for. No pattern stands for all.
func isAtOrBelow(name, pattern string) bool {
	have, want := elements(name), elements(pattern)
	if len(have) < len(want) {
		return false
	}
	for i, w := range want {
		if matched, err := path.Match(w, have[i]); err != nil || !matched {
			return false
		}
	}
	return true
}

func elements(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(e string) bool { return e == "" || e == "." })
}
