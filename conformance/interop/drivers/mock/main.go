// Command mock is the mock driver of Kubernetes' end-to-end tests, of v1.36: its servers as they
// are, at the socket that its argument names. It is a program of its own since the servers have
// fields of the CSI specification that later versions removed.
package main

import (
	"flag"
	"log"
	"net"

	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

func main() {
	attach := flag.Bool("attach", true, "volumes are attached before they are staged")
	topology := flag.Bool("topology", false, "a volume is where its node is")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: mock [-attach=false] [-topology] SOCKET")
	}
	listener, err := net.Listen("unix", flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	mock := service.New(service.Config{
		DriverName: "csi-mock.example.com", NodeExpansionRequired: true, DisableAttach: !*attach, EnableTopology: *topology,
	})
	if err := driver.NewCSIDriver(&driver.CSIDriverServers{Controller: mock, Identity: mock, Node: mock}).Start(listener, nil); err != nil {
		log.Fatal(err)
	}
	select {} // until it is killed
}
