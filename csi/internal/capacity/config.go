package capacity

import (
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The labels of the objects.
const (
	DriverNameLabel = "csi.storage.k8s.io/drivername"
	ManagedByLabel  = "csi.storage.k8s.io/managed-by"
)

// Config configures what is published. All fields but those with a default are required.
type Config struct {
	// Driver is the driver's name, and Controller calls it.
	Driver     string
	Controller csi.ControllerClient
	// Namespace is the namespace of the objects.
	Namespace string
	// ManagedBy is the value of ManagedByLabel; default "external-provisioner".
	ManagedBy string
	// Owner, if set, owns the objects, as the driver's Deployment does on a cluster.
	Owner *metav1.OwnerReference
	// PollInterval is the number of times that the driver is asked anyway.
	PollInterval time.Duration
	// ImmediateBinding publishes the capacity for classes with immediate binding, too.
	ImmediateBinding bool
	// Timeout is that of one call of the driver.
	Timeout time.Duration
	// RetryIntervalStart and RetryIntervalMax bound the backoff after a failure.
	RetryIntervalStart, RetryIntervalMax time.Duration
}
