package main

import (
	"testing"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestTheJobOfTheChapterIsAccepted(t *testing.T) {
	storagesimtest.New(t, storagesim.Config{}).ApplyFile("job.yaml")
}
