package shell_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/storagesim/storagesim/machine/disk"
)

func TestDDCopiesBlocks(t *testing.T) {
	for script, want := range map[string]string{
		"dd if=/dev/zero of=/data/big bs=1k count=3; wc -c < /data/big":                                      "3+0 records in\n3+0 records out\n3072\n",
		"echo 0123456789 | dd bs=4":                                                                          "0123456789\n2+1 records in\n2+1 records out\n",
		"echo 0123456789 > /data/f; dd if=/data/f of=/data/g bs=2 skip=1 count=2 status=none; cat /data/g":   "2345",
		"echo abcdef > /data/f; printf XY | dd of=/data/f bs=1 seek=2 conv=notrunc status=none; cat /data/f": "abXYef\n",
		"echo abcdef > /data/f; printf XY | dd of=/data/f bs=1 seek=2 status=none; cat /data/f":              "abXY",
		"printf XY | dd of=/data/n bs=1 seek=2 status=none; wc -c < /data/n":                                 "4\n",
		"echo a > /data/f; echo b | dd of=/data/f oflag=append conv=notrunc status=none; cat /data/f":        "a\nb\n",
		"dd if=/dev/urandom of=/dev/null bs=1M count=1 iflag=fullblock oflag=nocache status=progress":        "1+0 records in\n1+0 records out\n",
		"dd if=/data/none":              "dd: failed to open '/data/none': no such file or directory\n",
		"dd if=/dev/zero":               "dd: failed to open '/dev/zero': it has no end: head -c N reads N bytes of it\n",
		"dd if=/dev/zero count=1x":      "dd: invalid number: '1x'\n",
		"dd bs=0":                       "dd: invalid number: '0'\n",
		"dd input=x":                    "dd: unrecognized operand 'input=x'\n",
		"dd conv=nocreat":               "dd: this simulation does not know conv=nocreat; expected one of notrunc, fsync, fdatasync\n",
		"dd if=/dev/zero bs=1G count=1": "dd: file too large; the limit is 64 MiB\n",
		"dd seek=99999999999999":        "dd: invalid number: '99999999999999'\n",
		"dd seek=9999999":               "dd: file too large; the limit is 64 MiB\n",
	} {
		b := newBox(t)
		assert.Equal(t, want, b.run("sh", "-c", script).Log(), script)
	}
}

// What was written before the disk became full stays.
func TestDDWritesUntilTheDiskIsFull(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(newHost().Now))
	assert.NoError(t, b.node.Limit(disk.Limits{Bytes: 64 << 10}))
	p := b.run("sh", "-c", "dd if=/dev/zero of=/data/big bs=4k count=100; echo $?; wc -c < /data/big")
	assert.Regexp(t, `^100\+0 records in\n1\d\+0 records out\ndd: error writing '/data/big': [Nn]o space left on device\n1\n\d{5}\n$`, p.Log())
}
