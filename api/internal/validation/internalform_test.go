package validation

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The texts are as encoding/json writes pkg/apis/core's types of the same content.
func TestAValueIsShownAsTheServersOwnType(t *testing.T) {
	for want, value := range map[string]any{
		`{"Name":"v","HostPath":null,"EmptyDir":{"Medium":"","SizeLimit":"1Gi","Mode":null}`: v1.Volume{
			Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Gi"))}},
		},
		`{"labels":{"a":"b"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"","Command":null,`: v1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
		},
		`{"Spec":{"Volumes":[],`:             v1.PodTemplateSpec{Spec: v1.PodSpec{Volumes: []v1.Volume{}}},
		`{"Path":"/","Port":"web","Host":""`: &v1.HTTPGetAction{Path: "/", Port: intstr.FromString("web")},
		`{"LabelSelector":{"matchLabels":{"a":"b"}},` +
			`"Namespaces":null,`: v1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		`null`: (*v1.Affinity)(nil),
	} {
		text, err := json.Marshal(InternalForm{Value: value})
		require.NoError(t, err)
		require.Equal(t, want, string(text)[:min(len(want), len(text))])
	}
}
