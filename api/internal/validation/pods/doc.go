// Package pods says what is wrong with pods and with templates of pods. A podRules holds what the rules for the parts of one
// spec need of the rest of it.
package pods
