// Explore-your-provisioner looks for the mistakes of a provisioner: first in one that has none,
// then in the same with one mistake at a time.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
)

//go:embed class.yaml
var class string

//go:embed claim.yaml
var claim string

func main() { show.Main(play) }

func play(out io.Writer) error {
	for _, tt := range []struct {
		title string
		mistakes
	}{
		{"No mistake.", mistakes{}},
		{"Provision makes another disk when it is called again.", mistakes{newDiskEachTime: true}},
		{"Delete fails if the disk is gone already.", mistakes{deleteOnce: true}},
		{"A disk has the name of its claim.", mistakes{namedByClaim: true}},
		{"An error is taken for a disk that was not made.", mistakes{trustsErrors: true}},
	} {
		if _, err := fmt.Fprintf(out, "# %s\n", tt.title); err != nil {
			return err
		}
		if err := look(out, tt.mistakes); err != nil {
			return err
		}
	}
	return nil
}

// look explores a provisioner with these mistakes, and prints what is found.
func look(out io.Writer, m mistakes) error {
	report, err := explore.Run(context.Background(), explore.Config{Runs: 400}, explore.Scenario(func(c *explore.Cluster) {
		b := &backend{}
		c.AddProvisioner("example.com/disks", &disks{backend: b, mistakes: m})
		scenario(c, b)
	}))
	if f, found := errors.AsType[*explore.Failure](err); found {
		_, err = fmt.Fprintf(out, "%s\n\n", strings.TrimSpace(f.Text(terminal.TableWidth(out))))
		return err
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, prose.Wrap(fmt.Sprintf("Nothing was found in %d runs: %s.\n\n", report.Runs, report.Coverage), terminal.TableWidth(out), 2))
	return err
}

// scenario does what users do: it creates a claim and deletes it, and then another of the same name.
func scenario(c *explore.Cluster, b *backend) {
	c.Apply(class)
	c.Apply(claim)
	c.Settle()
	c.Delete("pvc/data")
	c.RunUntil(claimGone(c))
	c.Apply(claim)
	c.Settle()
	c.Delete("pvc/data")
	c.RunFor(explore.Recovery)
	if len(b.disks) > 0 {
		c.T.Fatalf("left at the end: %v", b.disks)
	}
}

// claimGone reports whether the claim is gone: users wait for that, and not for its volume.
func claimGone(c *explore.Cluster) func() bool {
	return func() bool {
		_, err := c.Cluster.Claim("data")
		return err != nil
	}
}
