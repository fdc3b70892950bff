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
	for line := range strings.SplitSeq((&Cluster{T: t}).told(err).(string), "\n") {
		assert.LessOrEqual(t, len("        "+line), 80, line)
	}
	other := struct{ testing.TB }{t}
	assert.Same(t, err, (&Cluster{T: other}).told(err), "an exploration wraps it itself, and knows which error it is")
}
