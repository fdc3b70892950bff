package explore

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/trace"
)

// keeping is a test whose artifacts are kept in a folder.
type keeping struct {
	testing.TB
	dir string
}

func (k keeping) ArtifactDir() string { return k.dir }

func TestAFailureLeavesItsPageIfArtifactsAreKept(t *testing.T) {
	scenario := func(c *storagesim.Cluster) error { return errors.New("no") }
	failure, failed := errors.AsType[*Failure](Replay(Config{Cluster: storagesim.Config{RecordValues: true}}, "x1", scenario))
	require.True(t, failed)
	log, told := failure.Log()
	require.Positive(t, told, "how the cluster came up is not told")
	require.LessOrEqual(t, told, log.Len())
	require.NotEmpty(t, log.Deliveries())

	cfg := Config{Page: func(w io.Writer, f *Failure) error {
		_, err := fmt.Fprintln(w, f.Err)
		return err
	}}
	test := keeping{t, t.TempDir()}
	artifacts := flag.Lookup("test.artifacts").Value
	before := artifacts.String()
	defer func() { require.NoError(t, artifacts.Set(before)) }()
	require.NoError(t, artifacts.Set("false"))
	require.Empty(t, keepPage(test, cfg, failure))
	require.NoError(t, artifacts.Set("true"))
	require.Empty(t, keepPage(test, Config{}, failure), "no page is asked for")
	require.Empty(t, keepPage(test, cfg, errors.New("another error")))

	file := filepath.Join(test.dir, "page.html")
	require.Equal(t, "its page is "+file+"\n", keepPage(test, cfg, failure))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "no\n", string(text))

	test.dir = filepath.Join(test.dir, "none")
	require.Contains(t, keepPage(test, cfg, &Failure{log: trace.New(1, 1)}), "its page cannot be written: ")
}
