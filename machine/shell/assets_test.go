package shell_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/shell"
)

func TestAProgramReportsTheDirectoriesThatItMadeAndRemoved(t *testing.T) {
	made := func(path string) shell.Asset { return shell.Asset{Path: "/disk/" + path} }
	removed := func(path string) shell.Asset { return shell.Asset{Path: "/disk/" + path, Removed: true} }
	for script, want := range map[string][]shell.Asset{
		"mkdir a":                            {made("a")},
		"mkdir -m 0700 -p a/b && mkdir -p a": {made("a/b")},
		"mkdir a a":                          {made("a")},
		"mkdir a; rmdir a":                   {made("a"), removed("a")},
		"mkdir a; rm -rf a a":                {made("a"), removed("a")},
		"mkdir a; mv a b":                    {made("a"), removed("a"), made("b")},
		"mkdir a; touch a/f; cp -r a b":      {made("a"), made("b")},
		"touch f; mv f g; rm g":              nil,
		"mkdir /nowhere; mkdir x/y":          nil,
		"name=a; [ -d $name ] || mkdir $name; cd a; mkdir ../c": {made("a"), made("c")},
	} {
		t.Run(script, func(t *testing.T) {
			b := newBox(t)
			p := shell.New(b.config("sh", "-c", script))
			b.goOn(p, 0)
			var got []shell.Asset
			for _, report := range append(p.Reports(), p.Main()) {
				got = append(got, report.Assets...)
			}
			require.Equal(t, want, got)
		})
	}
}
