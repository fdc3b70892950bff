package validation

import "reflect"

// ForgetEmpty makes a copy of an object, or of a part of one, what a real server reads from its storage: there an empty list or map is none. value is
// a pointer to the copy. What a client sends keeps its empty lists, so that messages show a change from null to [].
// Upstream: the protobuf of the API's types, in which lists and maps are repeated fields, v1.37.2.
func ForgetEmpty(value any) { forgetEmpty(reflect.ValueOf(value)) }

func forgetEmpty(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			forgetEmpty(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				forgetEmpty(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			forgetEmpty(v.Index(i))
		}
	case reflect.Map: // of values without lists
		if v.Len() == 0 {
			v.SetZero()
		}
	}
}
