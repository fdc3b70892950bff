package quota

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// services returns the evaluator of services.
// Upstream: quota/v1/evaluator/core services.go, v1.37.
func services() Evaluator {
	count := CountName(schema.GroupResource{Resource: "services"})
	names := []v1.ResourceName{count, v1.ResourceServices, v1.ResourceServicesNodePorts, v1.ResourceServicesLoadBalancers}
	return Evaluator{
		counts: func(name v1.ResourceName) bool { return slices.Contains(names, name) },
		usage: func(obj runtime.Object, _ time.Time) v1.ResourceList {
			service := obj.(*v1.Service)
			list := v1.ResourceList{
				count: one(), v1.ResourceServices: one(), v1.ResourceServicesLoadBalancers: {Format: resource.DecimalSI},
				v1.ResourceServicesNodePorts: *resource.NewQuantity(nodePorts(service), resource.DecimalSI),
			}
			if service.Spec.Type == v1.ServiceTypeLoadBalancer {
				list[v1.ResourceServicesLoadBalancers] = one()
			}
			return list
		},
		concerns: func(sub string, _, _ runtime.Object) bool { return sub == "" },
	}
}

// nodePorts returns the number of node ports that a service has, or will have.
func nodePorts(service *v1.Service) (n int64) {
	makes := service.Spec.AllocateLoadBalancerNodePorts
	for _, port := range service.Spec.Ports {
		switch service.Spec.Type {
		case v1.ServiceTypeNodePort:
			n++
		case v1.ServiceTypeLoadBalancer:
			if makes == nil || *makes || port.NodePort != 0 {
				n++
			}
		}
	}
	return n
}
