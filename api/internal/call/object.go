package call

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is an object in the store, typed or unstructured.
type Object interface {
	runtime.Object
	metav1.Object
}
