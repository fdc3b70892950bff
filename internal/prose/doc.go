// Package prose makes transcripts easier to read: it shortens long identifiers
// and wraps long lines.
package prose
