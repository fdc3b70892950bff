// Command mock is the mock driver of Kubernetes' end-to-end tests, of v1.36: its servers as they
// are, at the socket that its argument names. It is a program of its own since the servers have
// fields of the CSI specification that later versions removed.
package main

import (
	"log"
	"net"
	"os"

	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: mock SOCKET")
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	mock := service.New(service.Config{DriverName: "csi-mock.example.com", NodeExpansionRequired: true})
	if err := driver.NewCSIDriver(&driver.CSIDriverServers{Controller: mock, Identity: mock, Node: mock}).Start(listener, nil); err != nil {
		log.Fatal(err)
	}
	select {} // until it is killed
}
