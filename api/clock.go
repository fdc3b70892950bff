package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clock tells the time.
type clock func() time.Time

// now returns the time that the server writes into objects: whole seconds, as JSON
// has them.
func (c clock) now() metav1.Time {
	return metav1.NewTime(c().Truncate(time.Second))
}
