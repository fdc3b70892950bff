package validation

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestWhatIsReadFromTheStorageHasNoEmptyListsAndMaps(t *testing.T) {
	spec := v1.PodSpec{
		Volumes: []v1.Volume{}, NodeSelector: map[string]string{}, DNSConfig: &v1.PodDNSConfig{Searches: []string{}},
		Containers: []v1.Container{{Args: []string{}, Command: []string{"a"}, Resources: v1.ResourceRequirements{Limits: v1.ResourceList{}}}},
		Overhead:   v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
	}
	ForgetEmpty(&spec)
	require.Equal(t, v1.PodSpec{
		DNSConfig: &v1.PodDNSConfig{}, Containers: []v1.Container{{Command: []string{"a"}}},
		Overhead: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
	}, spec)
}
