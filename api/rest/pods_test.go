package rest

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestRefusedLogOptionsAreNamedInTheSameOrderEachTime(t *testing.T) {
	for range 20 {
		errs := validateLogOptions(&corev1.PodLogOptions{Timestamps: true, SinceSeconds: ptr.To[int64](1), SinceTime: &metav1.Time{}})
		require.Len(t, errs, 3)
		require.Equal(t, []string{"sinceSeconds", "sinceTime", "timestamps"}, []string{errs[0].Field, errs[1].Field, errs[2].Field})
	}
}
