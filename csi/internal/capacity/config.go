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

// Config configures the publication. All fields without a default are required, except Owner.
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
	// PollInterval is the interval at which the driver is asked without other reason.
	PollInterval time.Duration
	// ImmediateBinding publishes the capacity for classes with immediate binding, too.
	ImmediateBinding bool
	// Timeout limits one call of the driver.
	Timeout time.Duration
	// RetryIntervalStart and RetryIntervalMax bound the backoff after a failure.
	RetryIntervalStart, RetryIntervalMax time.Duration
}
