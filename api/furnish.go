package api

import (
	"context"
	"fmt"

	"github.com/storagesim/storagesim/api/address"
	"github.com/storagesim/storagesim/api/internal/furniture"
)

// Furnish makes the objects that kube-apiserver makes itself when it starts, and that people and programs look at: the service
// kubernetes, by which programs in pods find the API server and clients tell which family of addresses the cluster has, the two
// priority classes of the system, and the ConfigMap that says since when tokens of service accounts in Secrets are tracked. What
// is there already stays. If there is a certificate, by which programs in pods trust the server, each namespace gets it in a ConfigMap
// "kube-root-ca.crt", those that come later too. A cluster that is served has all of that; without it a run has fewer writes, and nothing
// else differs.
// Upstream: pkg/registry/scheduling/rest AddSystemPriorityClasses, v1.37.2, and those that furniture.Server names.
func (s *Server) Furnish(certificate []byte) error {
	s.writes.accounts.publish(string(certificate))
	for _, made := range furniture.Server(s.writes.clock.Now().Time) {
		k, ok := s.tables.registry.Lookup(made.Resource)
		namespace, name := made.Object.GetNamespace(), made.Object.GetName()
		if !ok || s.tables.stored(address.Address{Kind: k, Namespace: namespace, Name: name}) != nil {
			continue
		}
		_, err := s.Do(context.Background(), Request{Actor: serverActor, Verb: "create", Resource: made.Resource, Namespace: namespace, Object: made.Object})
		if err != nil {
			return fmt.Errorf("%s %s: %w", made.Resource.Resource, name, err)
		}
	}
	return nil
}
