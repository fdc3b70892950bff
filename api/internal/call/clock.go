package call

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Clock tells the time.
type Clock func() time.Time

// Now returns the time that the server writes into objects: whole seconds, as JSON
// has them.
func (c Clock) Now() metav1.Time {
	return metav1.NewTime(c().Truncate(time.Second))
}
