package fault

import (
	"fmt"
	"time"
)

// NotNegative returns an error if the value of a fault's field is negative.
func NotNegative[T int | time.Duration](field string, value T) error {
	if value < 0 {
		return fmt.Errorf("%s: %v is negative; it must be 0 or more", field, value)
	}
	return nil
}
