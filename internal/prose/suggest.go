package prose

import (
	"fmt"
	"strings"
	"unicode"
)

// OneOf ends a message about a word that is not one of the known ones: it suggests the
// nearest, as DidYouMean does, and lists all: ` (did you mean "b"?); expected one of a, b`.
func OneOf[S ~string](word string, known []S) string {
	expected := "; expected one of "
	switch len(known) {
	case 0:
		return "; there are none"
	case 1:
		expected = "; expected "
	}
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	return DidYouMean(word, words) + expected + strings.Join(words, ", ")
}

// DidYouMean returns ` (did you mean "x"?)` for the known word nearest to word, or nothing if
// none is near.
func DidYouMean(word string, known []string) string { return Suggest(Nearest(word, known)) }

// Suggest returns ` (did you mean "x"?)`, or nothing for an empty word.
func Suggest(word string) string {
	if word == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", word)
}

// Nearest returns the known word nearest to word, or "" if none is near. What has the same
// name after its slash is nearest: "kubelet/node-1" for "node/node-1" or "node-1"; then
// what begins with the word: "--filename" for "--file"; then what it is short for:
// "PersistentVolumeClaim" for "PVC".
func Nearest(word string, known []string) string {
	for _, k := range known {
		if _, name, ok := strings.Cut(k, "/"); ok && k != word && name == word[strings.LastIndex(word, "/")+1:] {
			return k
		}
	}
	for _, k := range known {
		if len(word) > 2 && word != k && strings.HasPrefix(strings.ToLower(k), strings.ToLower(word)) {
			return k
		}
	}
	for _, k := range known {
		if len(word) > 1 && strings.EqualFold(word, capitals(k)) {
			return k
		}
	}
	best, distance := "", len(word)/2+1
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return k
		}
		d := editDistance(strings.ToLower(word), strings.ToLower(k))
		if d < distance || d == distance && best != "" && !sameStart(word, best) && sameStart(word, k) {
			best, distance = k, d
		}
	}
	return best
}

// capitals returns the capital letters of a word.
func capitals(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return r
		}
		return -1
	}, word)
}

func sameStart(a, b string) bool { return a != "" && b != "" && a[0] == b[0] }

// editDistance returns the number of letters to insert, delete, replace or swap with the next
// one to turn a into b (optimal string alignment). Words longer than any field name are
// never near.
func editDistance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return max(len(a), len(b))
	}
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d[i][j] = min(replace, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
