package semantic

import "reflect"

// DropEqual empties the fields of two structs that are exactly the same in both. It is for a patch of two objects that a library makes of their
// JSON: to write what is the same would be most of its cost.
func DropEqual[T any](a, b *T) {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if reflect.DeepEqual(x.Field(i).Addr().Interface(), y.Field(i).Addr().Interface()) {
			x.Field(i).SetZero()
			y.Field(i).SetZero()
		}
	}
}
