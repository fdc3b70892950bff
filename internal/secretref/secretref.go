// Package secretref resolves the templates by which classes name secrets.
package secretref

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Resolve replaces the tokens of a template, and checks that the outcome is a name of
// that kind.
func Resolve(template string, tokens map[string]string, kind string, check func(string) []string) (string, error) {
	resolved, err := resolveTemplate(template, tokens)
	switch {
	case err != nil:
		return "", fmt.Errorf("error resolving value %q: %w", template, err)
	case len(check(resolved)) == 0:
		return resolved, nil
	case template != resolved:
		return "", fmt.Errorf("%q resolved to %q which is not a valid %s name", template, resolved, kind)
	}
	return "", fmt.Errorf("%q is not a valid %s name", template, kind)
}

// tokenPattern matches what os.Expand takes for a variable: ${name}, $name, or a dollar and one
// special character. Braces without a name, and one that is not closed, are dropped.
const tokenPattern = `\$(?:\{([^}]+)\}|\{\}|\{|([*#$@!?0-9-])|([A-Za-z_][A-Za-z0-9_]*))`

// resolveTemplate replaces the tokens of a template. Those that are not known are an error.
//
// Upstream: controller.go resolveTemplate, v6.4.
func resolveTemplate(template string, tokens map[string]string) (string, error) {
	var missing []string
	pattern := regexp.MustCompile(tokenPattern)
	resolved := pattern.ReplaceAllStringFunc(template, func(found string) string {
		name := strings.Join(pattern.FindStringSubmatch(found)[1:], "")
		value, ok := tokens[name]
		if !ok && name != "" {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		slices.Sort(missing)
		return "", fmt.Errorf("invalid tokens: %q", slices.Compact(missing))
	}
	return resolved, nil
}
