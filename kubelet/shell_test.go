package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/kubelet/nodefs"
)

// box is a container with a volume at /opt and one of scripts at /script.
func box(t *testing.T) (*nodefs.Dir, func(env map[string]string, argv ...string) (*Process, error)) {
	t.Helper()
	node, err := nodefs.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	require.NoError(t, node.MkdirAll("/disk", 0o755))
	require.NoError(t, node.MkdirAll("/scripts", 0o755))
	mounts := []containerMount{{ContainerPath: "/opt", VolumePath: "/disk"}, {ContainerPath: "/script", VolumePath: "/scripts", ReadOnly: true}}
	return node, func(env map[string]string, argv ...string) (*Process, error) {
		p := &Process{Argv: argv, Env: env, node: node, mounts: mounts, commands: DefaultCommands()}
		run, ok := lookup(p.commands, argv[0])
		require.True(t, ok, argv[0])
		return p, run(p)
	}
}

const setupScript = "#!/bin/sh\nset -eu\nmkdir -m 0777 -p \"$VOL_DIR\"\n"

func TestTheDefaultScriptsOfLocalPathRun(t *testing.T) {
	node, run := box(t)
	require.NoError(t, node.WriteFile("/scripts/setup", []byte(setupScript), 0o755))
	require.NoError(t, node.WriteFile("/scripts/teardown", []byte("#!/bin/sh\nset -eu\nrm -rf \"$VOL_DIR\""), 0o755))
	env := map[string]string{"VOL_DIR": "/opt/a volume"}
	p, err := run(env, "/bin/sh", "/script/setup", "-p", "/opt/a volume", "-s", "1", "-m", "Filesystem", "-a", "create")
	require.NoError(t, err)
	info, err := node.Stat("/disk/a volume")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o777), info.Mode().Perm())
	require.Len(t, p.children, 1)
	assert.Equal(t, []string{"mkdir", "-m", "0777", "-p", "/opt/a volume"}, p.children[0].process.Argv)
	assert.Equal(t, []string{"/disk/a volume"}, p.children[0].process.paths, "whoever looks for leaks finds it")

	_, err = run(env, "/bin/sh", "/script/teardown")
	require.NoError(t, err)
	_, err = node.Stat("/disk/a volume")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestAScriptIsReadAsAShellReadsIt(t *testing.T) {
	for script, want := range map[string][]string{
		`mkdir /opt/a /opt/b`:                         {"a/", "b/"},
		`mkdir "/opt/a b" '/opt/$A' /opt/c\ d`:        {"$A/", "a b/", "c d/"},
		"mkdir /opt/a # not /opt/b":                   {"a/"},
		"mkdir /opt/a#b; mkdir /opt/c;":               {"a#b/", "c/"},
		"D=/opt/x\nE=${D}-y\nmkdir $D \"$E\"z":        {"x/", "x-yz/"},
		"mkdir \\\n  /opt/joined":                     {"joined/"},
		`mkdir $1 "${2}" /opt/$A`:                     {"first/", "second/", "the-env/"},
		`mkdir /opt/a $MISSING`:                       {"a/"},
		"false\nmkdir /opt/goes-on":                   {"goes-on/"},
		"mkdir /opt/a\nexit 0\nmkdir /opt/b":          {"a/"},
		`mkdir "/opt/\"q\\" /opt/$`:                   {"\"q\\/", "$/"},
		"/usr/bin/mkdir /opt/p; : ; echo done; true;": {"p/"},
	} {
		t.Run(script, func(t *testing.T) {
			node, run := box(t)
			require.NoError(t, node.WriteFile("/scripts/s", []byte(script), 0o755))
			_, err := run(map[string]string{"A": "the-env"}, "sh", "/script/s", "/opt/first", "/opt/second")
			require.NoError(t, err)
			names, err := node.List("/disk")
			require.NoError(t, err)
			assert.Equal(t, want, names)
		})
	}
}

func TestAScriptThatNeedsAShellIsRefusedByNameBeforeAnythingIsDone(t *testing.T) {
	for script, want := range map[string]string{
		"mkdir /opt/a\nwhile getopts \"m:s:p:\" opt; do :; done": "line 2: while: this simulation has no shell",
		"mkdir /opt/a | rm -rf /opt":                             `line 1: "|": this simulation has no shell`,
		"mkdir /opt/a && mkdir /opt/b":                           `line 1: "&"`,
		"mkdir /opt/a > /opt/b":                                  `line 1: ">"`,
		"mkdir $(date)":                                          `line 1: "$("`,
		"mkdir `date`":                                           "line 1: \"`\"",
		"rm -rf /opt/*":                                          `line 1: "*"`,
		"rm -rf ~":                                               `line 1: "~"`,
		"mkdir ${A:-b}":                                          `line 1: "${A:-b}"`,
		"mkdir $@":                                               `line 1: "$@"`,
		"mkdir '/opt/a":                                          "line 1: a single quote is not closed",
		"mkdir \"/opt/a":                                         "line 1: a double quote is not closed",
		"mkdir /opt/a\\":                                         "line 1: a backslash ends the script",
		"mkdir /opt/a\n\ncurl http://x":                          "line 3: curl: this simulation has no shell",
	} {
		t.Run(script, func(t *testing.T) {
			node, run := box(t)
			require.NoError(t, node.WriteFile("/scripts/s", []byte(script), 0o755))
			_, err := run(nil, "sh", "/script/s")
			require.ErrorContains(t, err, "/script/s: "+want)
			assert.EqualValues(t, 2, exitCode(err))
			names, err := node.List("/disk")
			require.NoError(t, err)
			assert.Empty(t, names)

			_, err = run(nil, "sh", "-c", script)
			require.ErrorIs(t, err, errJustRuns, "a user's container with such a script just runs")
		})
	}
}

func TestAScriptEndsAsAShellEndsIt(t *testing.T) {
	for script, want := range map[string]struct {
		code int32
		text string
	}{
		"set -e\nrm /opt/missing\nmkdir /opt/a":      {1, "rm: cannot remove '/opt/missing'"},
		"rm /opt/missing\nexit 7":                    {7, "rm: cannot remove '/opt/missing'"},
		"exit 3":                                     {3, "exit status 3"},
		"exit x":                                     {2, "exit: illegal number: x"},
		"set -u\nmkdir \"$VOL_DIR\"":                 {2, "line 2: VOL_DIR: parameter not set"},
		"set -x":                                     {2, `option "x" is not one of those`},
		"A='*'\nrm -rf /opt/$A":                      {2, `"*" in $A, which is not quoted`},
		"A='a b'\nmkdir /opt/$A":                     {2, `"a b" in $A, which is not quoted`},
		"A=1 mkdir /opt/a":                           {2, "an assignment before a command"},
		"A=mkfs\n$A /dev/sda":                        {127, "mkfs: not found"},
		"mkdir -m zzz /opt/a":                        {1, "mkdir: invalid mode 'zzz'"},
		"sh -c 'exit 4'":                             {4, ""},
		"mkdir -p /script/x":                         {1, "read-only file system"},
		"rm -rf /elsewhere\nmkdir /etc/x\nrm -rf /x": {1, "in none of the container's volumes"},
	} {
		t.Run(script, func(t *testing.T) {
			node, run := box(t)
			require.NoError(t, node.WriteFile("/scripts/s", []byte(script), 0o755))
			_, err := run(nil, "sh", "/script/s")
			require.ErrorContains(t, err, want.text)
			assert.Equal(t, want.code, exitCode(err))
			names, err := node.List("/disk")
			require.NoError(t, err)
			assert.Empty(t, names)
		})
	}
	_, run := box(t)
	_, err := run(nil, "sh", "/script/missing")
	require.ErrorContains(t, err, "sh: cannot open /script/missing")
	_, err = run(nil, "sh")
	require.ErrorContains(t, err, "a script is missing")
	_, err = run(nil, "sh", "-x", "-c", "true")
	require.ErrorContains(t, err, `option "x"`)
	_, err = run(nil, "sh", "-ec", "false\ntrue")
	require.Error(t, err)
}

func TestAScriptThatRunsItselfComesToAnEnd(t *testing.T) {
	node, run := box(t)
	require.NoError(t, node.WriteFile("/scripts/s", []byte("sh /script/s\nsh /script/s"), 0o755))
	_, err := run(nil, "sh", "/script/s")
	require.ErrorContains(t, err, "more than 1000 commands in one container")
}

func FuzzAScriptDoesNotLeadOutOfItsVolumes(f *testing.F) {
	f.Add(setupScript, "/opt/../../x")
	f.Add("rm -rf $VOL_DIR", "/")
	f.Add("A=/opt/${VOL_DIR}\nmkdir -p \"$A\"; sh -c 'rm -rf /'", "..")
	f.Fuzz(func(t *testing.T, script, dir string) {
		if len(script)+len(dir) > 500 {
			return // longer ones teach nothing more
		}
		node, run := box(t)
		require.NoError(t, node.WriteFile("/canary", []byte("alive"), 0o644))
		require.NoError(t, node.WriteFile("/scripts/s", []byte(script), 0o755))
		_, err := run(map[string]string{"VOL_DIR": dir}, "sh", "/script/s", dir)
		var exit *exitError
		require.True(t, err == nil || errors.As(err, &exit), "%v", err)
		data, err := node.ReadFile("/canary")
		require.NoError(t, err)
		require.Equal(t, "alive", string(data))
	})
}

func TestModesAreOctalOrSymbolic(t *testing.T) {
	for text, want := range map[string]fs.FileMode{
		"0777": 0o777, "750": 0o750, "2770": 0o770 | fs.ModeSetgid, "1777": 0o777 | fs.ModeSticky, "4755": 0o755 | fs.ModeSetuid,
		"g+s": 0o777 | fs.ModeSetgid, "u=rwx,go=rx": 0o755, "o-rwx": 0o770, "a-w": 0o555, "-w": 0o555, "+t": 0o777 | fs.ModeSticky, "g=,o=": 0o700,
	} {
		mode, err := parseMode(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, mode, text)
	}
	for _, text := range []string{"", "9", "77777", "g", "z+w", "g+z", "g+s,", "rwx", "-1"} {
		_, err := parseMode(text)
		assert.ErrorContains(t, err, "invalid mode", text)
	}
}

// The script by which local-path's own tests use userPattern, groupPattern and
// permPattern.
func TestAScriptCanSetTheOwnerAndTheModeOfItsDirectory(t *testing.T) {
	node, run := box(t)
	require.NoError(t, node.WriteFile("/scripts/setup", []byte("#!/bin/sh\nset -eu\nmkdir -m 0777 -p \"$VOL_DIR\"\n"+
		"chown \"${VOL_USER}:${VOL_GROUP}\" \"$VOL_DIR\"\nchmod \"${VOL_PERM}\" \"$VOL_DIR\""), 0o755))
	p, err := run(map[string]string{"VOL_DIR": "/opt/pv", "VOL_USER": "1000", "VOL_GROUP": "2000", "VOL_PERM": "0700"}, "/bin/sh", "/script/setup")
	require.NoError(t, err)
	info, err := node.Stat("/disk/pv")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	uid, gid, ok := nodefs.Owner(info)
	require.True(t, ok)
	notes := p.children[1].process.notes
	if uid == 1000 && gid == 2000 {
		assert.Empty(t, notes)
	} else { // without privilege
		assert.Equal(t, []string{"the owner of pv does not become 1000:2000 here: that takes privilege"}, notes)
	}
}

func TestChmodAndChownChangeWhatTheyAreToldTo(t *testing.T) {
	node, run := box(t)
	require.NoError(t, node.MkdirAll("/disk/a/b", 0o755))
	_, err := node.Symlink("/etc", "/disk/a/link")
	require.NoError(t, err)
	mode := func(name string) fs.FileMode {
		info, err := node.Stat(name)
		require.NoError(t, err)
		return info.Mode() &^ fs.ModeDir
	}
	_, err = run(nil, "chmod", "g+s,o-rx", "/opt/a")
	require.NoError(t, err)
	assert.Equal(t, 0o750|fs.ModeSetgid, mode("/disk/a"))
	assert.Equal(t, fs.FileMode(0o755), mode("/disk/a/b"))
	_, err = run(nil, "chmod", "-R", "0700", "/opt/a")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), mode("/disk/a"))
	assert.Equal(t, fs.FileMode(0o700), mode("/disk/a/b"))
	_, err = run(nil, "chown", "-R", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "/opt/a")
	require.NoError(t, err)

	for want, argv := range map[string][]string{
		"chmod: missing operand":                                           {"chmod"},
		"chmod: missing operand ":                                          {"chmod", "0700"},
		"chmod: invalid mode 'rw'":                                         {"chmod", "rw", "/opt/a"},
		"chown: invalid owner 'root'":                                      {"chown", "root", "/opt/a"},
		"chown: invalid owner ':'":                                         {"chown", ":", "/opt/a"},
		"chown: invalid owner '9999999999'":                                {"chown", "9999999999", "/opt/a"},
		"cannot change permissions of '/opt/x': no such file or directory": {"chmod", "0700", "/opt/x"},
		"cannot change ownership of '/etc'":                                {"chown", "1:1", "/etc"},
		"option \"v\" of \"-v\"":                                           {"chown", "-v", "1:1", "/opt/a"},
	} {
		_, err := run(nil, argv...)
		assert.ErrorContains(t, err, strings.TrimSpace(want))
	}
}

func TestProjectQuotasAreRecorded(t *testing.T) {
	node, run := box(t)
	require.NoError(t, node.MkdirAll("/disk/a", 0o755))
	require.NoError(t, node.WriteFile("/disk/file", nil, 0o644))
	none, err := Quotas(node)
	require.NoError(t, err)
	require.Empty(t, none)

	_, err = run(nil, "xfs_quota", "-x", "-c", "project -s -p /opt/a 7", "/opt")
	require.NoError(t, err)
	p, err := run(nil, "xfs_quota", "-x", "-c", "limit -p bsoft=10k bhard=20k 7", "/opt")
	require.NoError(t, err)
	require.Equal(t, []string{"the limits of /disk/a are recorded, soft 10k and hard 20k; this simulation does not enforce them"}, p.notes)
	_, err = run(nil, "chattr", "+P", "-p", "3", "/opt/a")
	require.NoError(t, err)
	_, err = run(nil, "setquota", "-P", "3", "0", "5", "0", "0", "/opt")
	require.NoError(t, err)
	quotas, err := Quotas(node)
	require.NoError(t, err)
	require.Equal(t, []ProjectQuota{{3, "/disk/a", "0", "5"}, {7, "/disk/a", "10k", "20k"}}, quotas)

	for _, bad := range []struct {
		argv []string
		want string
	}{
		{[]string{"xfs_quota", "-x"}, "this simulation knows only"},
		{[]string{"xfs_quota", "-x", "-c", "report -h", "/opt"}, "this simulation knows only"},
		{[]string{"xfs_quota", "-x", "-c", "project -s -p /opt/b 7", "/opt"}, "no such file or directory"},
		{[]string{"xfs_quota", "-x", "-c", "project -s -p /opt/file 7", "/opt"}, "Not a directory"},
		{[]string{"xfs_quota", "-x", "-c", "project -s -p /etc 7", "/opt"}, "in none of the container's volumes"},
		{[]string{"xfs_quota", "-x", "-c", "project -s -p /opt/a 0", "/opt"}, "must be a number from 1 to"},
		{[]string{"xfs_quota", "-x", "-c", "limit -p bsoft=x bhard=1 7", "/opt"}, "limit 'x' must be a number"},
		{[]string{"chattr", "+i", "/opt/a"}, "this simulation knows only"},
		{[]string{"chattr", "+P", "-p", "../../x", "/opt/a"}, "must be a number from 1 to"},
		{[]string{"setquota", "-P", "3", "1", "1", "9", "9", "/opt"}, "this simulation knows only"},
	} {
		_, err := run(nil, bad.argv...)
		require.ErrorContains(t, err, bad.want, bad.argv)
	}
}
