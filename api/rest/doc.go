// Package rest serves the Kubernetes API over HTTP: the paths, verbs, forms and status
// codes of kube-apiserver, in front of an [api.Server].
//
//	handler := rest.New(server, server.Registry(), time.Now)
//	config := handler.Config("my-operator") // a *rest.Config without a port
//	client, err := kubernetes.NewForConfig(config)
//
// # How a request goes
//
// The path says which resource is meant, the method what is wanted, the headers in
// which form. Together they become one [api.Request], which goes through the [Door]; the
// answer is turned into what the client asked for: the object, a Table as kubectl
// prints it, or its metadata alone; JSON, YAML or protobuf. Beside the server's state
// there are only the last encodings: an object never changes once it is stored,
// so that the same answer need not be encoded again.
//
// The files follow a request: path, call (what the body and the parameters say), write,
// watch, convert, response. discovery has the documents by which clients find out what
// there is, transport the way in for clients in the same process.
//
// # What differs from a real API server
//
//   - Who is asking is not checked here: what listens on a port does that. The name of
//     the program, from its User-Agent, is the actor of its writes.
//   - Logs of pods, commands in them and nodes/proxy need a way to the nodes (WithNodes). A command is
//     reached over WebSocket and SPDY, with v4.channel.k8s.io at least. attach, portforward and proxy of
//     pods are refused, and so are the times of a log's lines, which are not kept.
//   - OpenAPI has no schemas of lists: an operation that lists names the kind of the items.
//   - A watch without timeoutSeconds lasts until the client ends it; a real server ends
//     it after half an hour to an hour.
//   - Services, PriorityClasses and PodDisruptionBudgets have tables of a name and an age.
package rest
