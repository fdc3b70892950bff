package page_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/page"
)

// A test that explores leaves a page of its failure: explore.Test(t, cfg, scenario) calls Page if go test keeps artifacts.
func Example_failure() {
	cfg := explore.Config{
		Cluster: storagesim.Config{RecordValues: true},
		Page: func(w io.Writer, f *explore.Failure) error {
			log, told := f.Log()
			return page.Write(w, view.OfLog(log, view.Options{Title: "TestMine", Start: engine.Start(), Told: told}))
		},
	}
	scenario := func(c *storagesim.Cluster) error { return c.RequireBound("data") }
	err := explore.Replay(cfg, "x1", scenario)
	var b bytes.Buffer
	if f, failed := errors.AsType[*explore.Failure](err); failed {
		err = cfg.Page(&b, f)
	}
	fmt.Println(strings.Contains(b.String(), "<title>TestMine - storagesim</title>"), err)
	// Output: true <nil>
}
