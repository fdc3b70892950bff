package museum

import (
	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

// The rules of the museum, each for the exhibits that name it.
const (
	// NoAssetIsLost: nothing leaks at the end, not even what upstream is known to leak, which
	// explore.NothingLeaks lets pass.
	NoAssetIsLost = "no asset is lost"
)

func rules() []explore.Rule {
	return []explore.Rule{
		{Name: NoAssetIsLost, Begin: func(c *storagesim.Cluster) explore.Check { return explore.Check{Rest: c.RequireNoLeaks} }},
	}
}
