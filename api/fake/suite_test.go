package fake_test

import (
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/internal/rigs/clienttest"
)

func TestClientsOfTheFakeBasedKindKeepTheirPromises(t *testing.T) {
	for name, newClientset := range clientsets() {
		t.Run(name, func(t *testing.T) {
			clienttest.Run(t, func(*testing.T) kubernetes.Interface { return newClientset(api.NewServer(api.Config{}), "me") })
		})
	}
}
