package bundled

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// ParseDiskSize reads the value of a flag for Config.DiskSize, such as 20Gi; "" is the default.
func ParseDiskSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(text)
	if size, whole := q.AsInt64(); err == nil && whole && size > 0 {
		return size, nil
	}
	return 0, fmt.Errorf("%s: %q is not a size such as 512Mi or 20Gi, at most %d bytes", flag, text, math.MaxInt64)
}
