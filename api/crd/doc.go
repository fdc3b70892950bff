// Package crd has an API server serve CustomResourceDefinitions: kinds that are defined
// while it runs.
//
//	server := api.NewServer(api.Config{})
//	err := crd.Install(server, nil)
//
// # How a definition becomes a kind
//
// A definition is validated by the rules of a real server, and refused with the same field
// paths. Then its names are compared with those of the other definitions of its group
// (condition NamesAccepted), and each version that is served becomes an entry of the
// server's registry (condition Established): its schema prunes, sets defaults and
// validates; subresources, printer columns, selectable fields and the types for server-side
// apply come from the definition.
//
// On a cluster these are controllers in kube-apiserver, which take a moment. Here the server
// does their work in the request that writes the definition, before the answer, each step as
// a write of its own by the actor kube-apiserver: watchers see the definition without
// conditions, with its names, established. So a client that has the answer can create objects, and
// a run with definitions is repeatable without another actor, which would change every run.
//
// A definition that is deleted has the finalizer customresourcecleanup.apiextensions.k8s.io
// until its objects are gone. They are deleted at once, and no more can be created; those
// with finalizers keep the definition until the last of them has gone.
//
// The files: install and names follow the definitions, cleanup deletes, kind makes the
// entries, shape (schema.go), defaults and embedded work on objects, types and columns are
// for clients, validate*.go judge definitions.
//
// # What differs from a real API server
//
//   - Rules in the language CEL (x-kubernetes-validations) are evaluated in programs that import
//     package api/crd/cel. In others they are stored, and a client gets the warning
//     [RulesMessage]: the library that evaluates them makes a program 47 MB larger (48.4 to
//     95.8 MB on linux/amd64); what is used here costs 2.1 MB.
//   - Conversion webhooks are not called: objects are converted by their apiVersion, as
//     with the strategy None. A client gets the warning [WebhookMessage].
//   - Objects have the defaults of the stored version from when they are stored, or when the definition changes, and not
//     only when they are read.
//   - Defaults are validated each by its own part of the schema.
//   - A definition may not have the name of a kind that the server has already: it is not
//     established then.
package crd
