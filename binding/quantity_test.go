package binding

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Whole numbers are compared as int64, others as quantities. The answers must be those of
// Cmp, also at the limits of int64.
func TestAnIntervalContainsWhatCmpSays(t *testing.T) {
	var sizes []resource.Quantity
	for _, s := range []string{"0", "1", "-1", "0.5", "1500m", "1Ki", "1k", "1e3", "1e30", "-1e30", "9223372036854775807", "9223372036854775806",
		"-9223372036854775808"} {
		sizes = append(sizes, resource.MustParse(s))
	}
	sizes = append(sizes, *resource.NewQuantity(math.MaxInt64, resource.BinarySI), resource.Quantity{})
	for _, least := range sizes {
		for _, below := range sizes {
			open, bounded := interval{least: &least}, interval{&least, &below}
			for _, size := range sizes {
				assert.Equal(t, size.Cmp(least) >= 0, open.contains(&size), "%s from %s", &size, &least)
				assert.Equal(t, size.Cmp(least) >= 0 && size.Cmp(below) < 0, bounded.contains(&size), "%s from %s below %s", &size, &least, &below)
			}
		}
	}
}
