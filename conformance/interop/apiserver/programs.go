package apiserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/storagesim/storagesim/conformance/internal/upstream"
)

// Build builds upstream's programs once, into the user's cache; later it takes a moment to see that they are there. It returns their folder.
var Build = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "storagesim", "apiserver")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), "tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, text)
	}
	return dir, nil
})

// Real is a running kube-apiserver with an etcd of its own.
type Real struct{ *upstream.Server }

// Start builds the programs, starts them and waits until the server is ready.
func Start(ctx context.Context) (*Real, error) {
	programs, err := Build()
	if err != nil {
		return nil, err
	}
	server, err := upstream.Start(ctx, upstream.Config{Folders: []string{programs}, Flags: []string{"--allow-privileged"}})
	if err != nil {
		return nil, err
	}
	return &Real{server}, nil
}
