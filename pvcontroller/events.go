package pvcontroller

// Reasons of events.
// Upstream: pkg/controller/volume/events/event.go, v1.37.
const (
	claimLost                  = "ClaimLost"
	claimMisbound              = "ClaimMisbound"
	failedBinding              = "FailedBinding"
	volumeMismatch             = "VolumeMismatch"
	volumeFailedRecycle        = "VolumeFailedRecycle"
	volumeRecycled             = "VolumeRecycled"
	recyclerPod                = "RecyclerPod"
	volumeDelete               = "VolumeDelete"
	volumeFailedDelete         = "VolumeFailedDelete"
	volumeUnknownReclaimPolicy = "VolumeUnknownReclaimPolicy"
	externalProvisioning       = "ExternalProvisioning"
	provisioningFailed         = "ProvisioningFailed"
	waitForFirstConsumer       = "WaitForFirstConsumer"
	waitForPodScheduled        = "WaitForPodScheduled"
)
