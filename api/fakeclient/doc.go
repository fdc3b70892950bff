// Package fakeclient has client-go's fake clientset over an API server of package api.
//
//	server := api.NewServer(api.Config{})
//	client := fakeclient.New(server, "user") // a kubernetes.Interface
//
// A [Clientset] is one of client-go's fake clientsets with the name of who calls:
// PrependReactor and Actions work as ever, but what answers is the server. The latest
// actions are kept, at least 1000, or none with [NewWithoutActions], which is faster.
package fakeclient
