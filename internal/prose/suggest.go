package prose

import (
	"fmt"
	"strings"
)

// DidYouMean is `; did you mean "x"?` for the known word nearest to word, or
// nothing if none is near. What has the same name after its slash is nearest:
// "kubelet/node-1" for "node/node-1" or "node-1".
func DidYouMean(word string, known []string) string {
	for _, k := range known {
		if _, name, ok := strings.Cut(k, "/"); ok && k != word && name == word[strings.LastIndex(word, "/")+1:] {
			return fmt.Sprintf("; did you mean %q?", k)
		}
	}
	best, distance := "", len(word)/2+1
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return fmt.Sprintf("; did you mean %q?", k)
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// editDistance is the number of letters to insert, delete or replace to turn a
// into b (Levenshtein). Words longer than any field name are never near.
func editDistance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
