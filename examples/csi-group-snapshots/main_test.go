package main

import (
	"testing"

	"github.com/storagesim/storagesim/examples/internal/show/showtest"
)

func TestTheExamplePrintsWhatIsExpected(t *testing.T) { showtest.RequireOutput(t, main) }
