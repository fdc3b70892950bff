package story

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMachinesBreakAndAreMended(t *testing.T) {
	got := play(t, strings.ReplaceAll(`mkdir node/node-1:/a
break node/node-1 write /a error=ENOSPC times=1 skip=1
write node/node-1:/a/x one
write node/node-1:/a/x two
write node/node-1:/a/x three
read node/node-1:/a/x
break any change error=EROFS
write node/node-2:/x one
mend
break node/node-2 any error=EIO times=0
read node/node-2:/a
write node/node-2:/x one
mkdir node/node-2:/b
mend
write node/node-2:/x two
read node/node-2:/x
`, "\n", "\n----\n\n"))
	for _, want := range []string{
		"node/node-1 will fail to write /a skip=1 times=1: no space left on device\n",
		"\nwrite node/node-1:/a/x two\n----\nerror: node/node-1: write /a/x: no space left on device\n",
		"\nwrite node/node-1:/a/x three\n----\n\n", "\nread node/node-1:/a/x\n----\nthree\n",
		"any will fail to change: read-only file system\n",
		"\nwrite node/node-2:/x one\n----\nerror: node/node-2: write /x: read-only file system\n",
		"node/node-2 will fail to do anything: input/output error\n",
		"\nread node/node-2:/a\n----\nerror: node/node-2: read /a: input/output error\n",
		"\nwrite node/node-2:/x one\n----\nerror: node/node-2: write /x: input/output error\n",
		"\nmkdir node/node-2:/b\n----\nerror: node/node-2: mkdir /b: input/output error\n",
		"all faults are removed\n", "\nread node/node-2:/x\n----\ntwo\n",
	} {
		assert.Contains(t, got, want)
	}
}

func TestABreakThatMakesNoSenseNamesWhatIsAllowed(t *testing.T) {
	for line, want := range map[string]string{
		"break node/node-1":                            `wrong number of arguments: 1; expected 2 to 3; usage: break node/NAME|nfs/SERVER|any OP`,
		"break node/node-1 mount":                      `error= is missing; expected one of EACCES, EBUSY, EDQUOT, EIO, ENOSPC, EROFS, ESTALE`,
		"break node/node-1 mount error=ENOENT":         `error: unknown error "ENOENT" (did you mean "ENOSPC"?); expected one of EACCES`,
		"break node/node-1 umount error=EIO":           `machine.Fault.Op: unknown operation "umount" (did you mean "unmount"?); expected one of change`,
		"break node/node-9 mount error=EIO":            `no node is called "node-9" (did you mean "node-1"?); expected one of node-1, node-2`,
		"break node-1 mount error=EIO":                 `"node-1" is not a machine (did you mean "node/node-1"?); expected node/NAME or nfs/NAME`,
		"break node/node-1 mount data error=EIO":       `machine.Fault.Path: "data"`,
		"break node/node-1 mount error=EIO times=some": `times: "some" is not a whole number`,
		"break node/node-1 mount error=EIO skip=-1":    `skip: "-1" is negative; expected a whole number of at least 0`,
		"break node/node-1 mount error=EIO for=1m":     `unknown setting "for"; expected one of error, times, skip`,
		"mend now": `wrong number of arguments: 1; expected none; usage: mend`,
	} {
		_, err := Run("test.txt", line+"\n----\n")
		assert.ErrorContains(t, err, want, line)
	}
}
