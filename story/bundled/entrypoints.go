package bundled

import (
	"fmt"
	"strings"
)

// ParseEntrypoints reads values of a flag, IMAGE=SCRIPT, for Config.Entrypoints.
func ParseEntrypoints(flag string, texts []string) (map[string][]string, error) {
	commands := map[string][]string{}
	for _, text := range texts {
		image, script, ok := strings.Cut(text, "=")
		switch {
		case !ok || image == "" || script == "":
			return nil, fmt.Errorf("%s: %q is not IMAGE=SCRIPT, such as example.com/populator='echo filled > /data/x'", flag, text)
		case commands[image] != nil:
			return nil, fmt.Errorf("%s: the image %s is named twice", flag, image)
		}
		commands[image] = []string{"sh", "-c", script, "sh"}
	}
	return commands, nil
}
