package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

func TestSumsAndBase64AreThoseOfTheRealPrograms(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	for script, want := range map[string]string{
		"printf abc | md5sum":    "900150983cd24fb0d6963f7d28e17f72  -\n",
		"printf abc | sha1sum":   "a9993e364706816aba3e25717850c26c9cd0d89d  -\n",
		"printf abc | sha256sum": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n",
		"printf abc > f; sha512sum f | grep -c ^ddaf35a193617abacc417349ae20413112e6fa4e89a97ea2": "1\n",
		`echo x > f; echo y > g; sha256sum f g > list; sha256sum -c list
echo z > g; sha256sum -c list; echo $?; sha256sum -c -s list || echo no`: "f: OK\ng: OK\n" +
			"f: OK\ng: FAILED\nsha256sum: WARNING: 1 of 2 computed checksums did NOT match\n1\nno\n",
		"rm -f h; md5sum h; echo $?; echo nothing > list; md5sum -c list": "md5sum: h: no such file or directory\n1\n" +
			"md5sum: no checksum lines found\n",
		"echo hello | base64; echo aGVsbG8K | base64 -d":                     "aGVsbG8K\nhello\n",
		"printf abcdefgh | base64 -w 5; printf abcdefgh | base64 -w 0; echo": "YWJjZ\nGVmZ2\ng=\nYWJjZGVmZ2g=\n",
		"echo '?' | base64 -d; echo $?; base64 -w x": "base64: invalid input\n1\n" +
			"base64: invalid wrap size: 'x': it must be a number, 0 for one line\n",
	} {
		require.Equal(t, want, b.run("sh", "-c", script).Log(), script)
	}
}

func TestChgrpSetsTheGroupAlone(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	require.Equal(t, "7 9\n7 0\n", b.run("sh", "-c", `mkdir d; touch d/f; chown 7:8 d/f; chgrp -R 9 d; stat -c '%u %g' d/f
chgrp root d/f; stat -c '%u %g' d/f`).Log())
	require.Equal(t, "chgrp: invalid group '1:2': it must be GID, in numbers or root\n", b.run("chgrp", "1:2", "d").Log())
}

func TestABlockVolumeIsABlockDeviceInItsContainer(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	require.NoError(t, b.node.WriteFile("/device", []byte("0123456789"), 0o660))
	config := b.config("sh", "-c", `test -b /dev/xvda && ! test -f /dev/xvda && ! test -c /dev/xvda && ! test -b /data && ! test -b /dev/null && echo device
stat -c '%F %A' /dev/xvda; printf ab | dd of=/dev/xvda status=none; cat /dev/xvda; echo; ls -l /dev/xvda | grep -c ^b`)
	config.Mounts = append(config.Mounts, shell.Mount{ContainerPath: "/dev/xvda", VolumePath: "/device", Block: true})
	p := shell.New(config)
	t.Cleanup(p.Stop)
	b.goOn(p, time.Minute)
	require.Equal(t, "device\nblock special file brw-r-----\nab23456789\n1\n", p.Log())
}
