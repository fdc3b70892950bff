// Package api is an API server for one process: what kube-apiserver and etcd do
// to objects, without HTTP, processes or disks.
//
//	server := api.NewServer(api.Config{})
//	client := fake.New(server, "user") // a kubernetes.Interface
//
// A request passes these rooms. Follow one write in do.go, writer.go, and create.go or update.go; request.go has what they hand on. None of
// the rooms knows the server:
//
//   - registry: which kind it is, with its defaults and validation;
//   - address: which object it is about, what a client may send for it and asks of what is stored;
//   - views: what a subresource is, such as scale, eviction or binding, and what it decides;
//   - patch: what a patch makes of the stored object;
//   - admission: what plugins change in an object or refuse, from what they read;
//   - store: versions, the log of changes, lists and watches.
//
// # The store and its log
//
// Every resource has its objects and a log of changes. One counter gives every
// write its resourceVersion, so that all changes of all resources have one
// order. Stored objects are never changed: a write puts a new one in place of
// the old, readers share them under the lock and clients get copies.
//
// A watch is a cursor into the log. It holds no buffer: it cannot block a
// writer, cannot overflow, and one that is never read costs a few words. The log
// forgets: a cursor that is further behind than Config.LogLimit changes gets 410
// Gone and lists again, as informers do by themselves. A cursor that nothing
// concerned does not fall behind. Cursors wait under the field they select by
// (spec.nodeName, metadata.name, the namespace), so that a change wakes only
// those it may concern.
//
// There are two ways to watch: a client's Watch, with a goroutine that delivers
// copies, for client-go's informers (also inside testing/synctest); and
// [Server.Follow], a bare [store.Cursor], for a driver that decides itself when to
// deliver what.
//
// # Kinds
//
// A server's [registry.Registry] has one entry, a [registry.Kind], for each kind of object:
// names, scope, defaults, the form that is stored, validation, fields to select by and
// subresources. The entries of Kubernetes' own kinds are in kinds_*.go; packages strategy
// and validation have the functions that they name. Names on a command line, in manifests
// and in discovery all come from the registry.
//
//	kinds := registry.New()
//	err := kinds.Add(scheme, registry.Kind{Group: "example.com", Version: "v1", Kind: "Backup", ShortNames: []string{"bak"}})
//	server := api.NewServer(api.Config{Registry: kinds})
//
// Kinds may come and go while the server runs. [registry.Registry.Add] without a scheme registers
// a kind whose objects are unstructured, as a CustomResourceDefinition needs it:
// its controller adds an entry with the names, scope and versions of the definition, a
// Strategy that sets the defaults and drops the fields that its schema does not have, and a
// Validation that applies the schema. When the definition goes, [registry.Registry.Remove] takes
// the entry out, with all objects. Their followers get 410 Gone, and 404 on the next list.
// Discovery is made from the entries: [registry.Registry.Groups] is /api and /apis,
// [registry.Registry.ResourceLists] are the documents below them.
//
// # A write
//
// The phases of a write are upstream's, in upstream's order, one file each:
//
//   - create: namespace, status dropped, defaults, admission, system fields,
//     validation, and only then whether the name is free;
//   - patch: the outcome is computed from the stored object;
//   - update and patch: version and UID, defaults, what the subresource may not
//     touch, validation, admission, whether anything changed;
//   - delete: preconditions, finalizers, the grace period of pods.
//
// All that is done to an object before it is stored is done without the lock (writer.go), and
// again if the stored object was written meanwhile. Only then, with the lock: whether the
// namespace is still there, quotas, whether the name is free.
//
// Kinds of the storage plane have their defaults, validation and admission;
// every other kind has what all kinds have: UID, versions,
// conflicts, finalizers, status as a subresource, watches.
//
// UIDs and generated names are hashes, not a stream of random numbers. A UID
// depends on Config.Seed, on what is named and on how many objects of its
// resource were removed before, so that it is the same however the creations
// and updates before it interleaved; a generated name depends on how many
// objects of its resource were created.
//
// # Requests
//
// [Server.Do] carries out one [Request], and [Server.Watch] begins a watch. A layer
// before a server that delays requests, refuses them or changes answers is a [Handler], too. Clients are
// adapters over a Handler: package api/fake has one of client-go's clientsets.
//
// # What differs from a real API server
//
//   - Every version of a group has its own store: what is written to
//     autoscaling/v1 is not seen in v2, nor an event that a client writes
//     to events.k8s.io among those of v1. Real servers convert. What a controller's
//     recorder writes to events.k8s.io is kept in v1, as kubectl shows it.
//   - Each kind has the one version that it has on a cluster; HorizontalPodAutoscalers have two. Kinds that a cluster serves only on
//     request are there for clients in the process, and not over HTTP. Users may write va for volumeattachments. APIServices are kept as
//     clients make them: those of the server's own groups are not among them.
//   - managedFields are kept of objects that came over HTTP (package rest, [Request].Track) or were applied once. Of
//     others it is not tracked who set what, and a first apply treats the fields of
//     others as those of the manager "before-first-apply", as upstream does for
//     objects older than the feature. This keeps the writes of controllers fast.
//   - There is no garbage collector and no namespace controller here. A deletion in the
//     foreground, or one that orphans, gives the object a finalizer, as upstream; package
//     garbagecollector acts on it. A deleted namespace is Terminating until its
//     spec.finalizers are emptied through the subresource finalize, and its objects stay;
//     package namespace deletes them and then does that.
//   - The event of an object whose last finalizer is removed shows the object
//     without it; upstream shows what was stored before.
//   - A watch ends with its context, when it is stopped or when it has fallen behind, not
//     by timeoutSeconds. Bookmarks come when there are changes, at most one a minute, by
//     Config.Now.
//   - A page of a list shows the objects as they were at the first page, and
//     resourceVersionMatch Exact those of an older version, as long as the log has the changes since then.
//   - Times inside objects are kept as written; real servers cut them to
//     seconds. What the server itself writes is in whole seconds.
//   - A namespace has its service account "default" from the write that makes it
//     ([Config.DefaultAccounts], which a Cluster asks for); on a cluster a controller
//     makes it a moment later. So it is with the ConfigMap kube-root-ca.crt of a cluster that is served, which
//     also has the objects that kube-apiserver makes for itself ([Server.Furnish]); others have neither.
//   - Nodes do not resize, so that resize refuses a pod whose containers run, with upstream's words for such a node. Every client may do
//     everything.
//   - Admission has the plugins that the storage plane needs: NamespaceLifecycle,
//     StorageObjectInUseProtection, DefaultStorageClass, PersistentVolumeClaimResize,
//     DefaultTolerationSeconds, Priority, RuntimeClass, PodSecurity (without an audit log and exemptions), LimitRanger and ResourceQuota, the last two
//     not for the subresource resize. Admission policies are stored and do nothing, and so are webhooks whose program is not known
//     ([Server.AskWebhooks]; package live/webhooks asks programs outside); a client is warned of that. Those that are asked are not asked about
//     bindings, evictions, tokens, scales and connections, nor about events that controllers of the simulation record; a field that the schema does not
//     have is dropped before the next webhook sees the object; and a kind whose versions have stores of their own is asked about in the version of the
//     request alone.
//     ServiceAccount ([Config.RequireAccounts], which a Cluster asks for) gives no pod a volume with a token. A pod that
//     names no account is treated as one of the account "default", if that exists, but is not given its name; so a projected
//     serviceAccountToken needs no serviceAccountName. The control plane of the recordings is without the plugin.
//   - Privileged containers are allowed, as on clusters that kubeadm or kind made. A real
//     server that was started without --allow-privileged=true refuses them with 422:
//     see [Config.DenyPrivileged].
//   - Services get addresses of 10.96.0.0/12, IPv4 only, and may have those of a ServiceCIDR that a client makes. The statuses of Jobs, Services, Deployments,
//     ReplicaSets and DaemonSets, and kinds that neither the storage plane nor workloads use, are taken as they are; only their
//     metadata is validated.
//   - Of a pod's annotations the deprecated ones for seccomp and AppArmor profiles are not
//     validated, nor copied into fields.
//   - A refusal that quotes a whole field does so with the names of the API, except for pods and
//     templates of pods that change; upstream quotes its internal types. A patch whose outcome is no
//     object of the kind is quoted itself, where upstream quotes the outcome.
//   - Events that say the same are counted, but those that merely resemble each
//     other are not combined, and there is no rate limit.
//   - A quantity with an exponent beyond 999 or more than 1000 characters is refused
//     with 422, and never parsed. A real server computes with it for minutes.
//   - Sizes: a request of more than 3 MiB gets 413, an object of more than 1.5 MiB
//     etcd's refusals, as on a cluster. Objects come without the text of a request;
//     their JSON is measured before they are stored or where they are refused
//     anyway. Parts that the server drops, such as the status of a new pod, do not
//     count, and some hundred bytes that etcd adds neither.
package api
