package storagesimtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// go test indents what a failure prints by eight columns.
func TestAnErrorFitsATerminalOfEightyColumns(t *testing.T) {
	err := errors.New("pod default/web is Pending\n  " + strings.Repeat("word ", 30) + "/var/lib/kubelet/pods/" + strings.Repeat("x/", 40))
	for line := range strings.SplitSeq((&Cluster{T: t}).text(err), "\n") {
		assert.LessOrEqual(t, len("        "+line), 80, line)
	}
	other := struct{ testing.TB }{t}
	assert.Equal(t, err.Error(), (&Cluster{T: other}).text(err), "an exploration wraps it itself")
}
