// Package scheduler places pods on nodes, and with them their volumes: it has the whole
// volume binder of kube-scheduler, and as much of the scheduler around it
// as ordinary manifests need.
//
// # One pod
//
// scheduleOne takes a pod from the queue through two cycles of named phases, one
// file each. The scheduling cycle decides, in memory and without a pause:
//
//	PreFilter  is the pod itself fit to be placed: do its claims exist, are the
//	           Immediate ones bound; does its affinity name the nodes
//	Filter     which nodes could take it; for its volumes FindPodVolumes
//	Score      which of them is best; among equals control.Env.Choose
//	Reserve    take what it needs there, in memory; AssumePodVolumes
//
// The binding cycle makes it so, as a task of its own beside the scheduling of
// later pods, because volumes take time:
//
//	PreBind    write claimRef and selected-node, wait until the PV controller and
//	           the provisioner have bound every claim; BindPodVolumes
//	Bind       write pods/binding
//	Unreserve  if any of this fails: give back what is still only in memory;
//	           RevertAssumedPodVolumes
//
// What PreBind has written is never rolled back. The next attempt finds a claim
// with a selected node, or a volume reserved for it, and goes on from there.
//
// # Two views
//
// Decisions are made on the caches plus what this scheduler has decided and not
// yet seen come back: assumed pods (clusterState) and assumed volumes and claims
// (assumeCache). So two pods scheduled one after the other never choose the same
// volume, although nothing is written between the two. Waiting (checkBindings)
// looks at the caches alone.
//
// # Thousands of nodes
//
// In a cluster of at least 100 nodes a decision looks for only some of the nodes that fit, from
// where the last one ended (numFeasibleNodesToFind). A pod that fits nowhere is tried on
// every node. The cost of a decision is the work for each node. So
// PreFilter computes all that does not depend on the node (prepare); a volume for a
// claim is asked of a binding.Index, which follows the assume cache change by change
// and offers only volumes that the node may reach; and reasons against a node are
// counted, and put into words only for those that are told (problem). What every decision
// reads of a node lies together in its nodeInfo, with the index's buckets for it
// (binding.NodeBuckets). The answers
// equal those of upstream's walk through all volumes: see TestTheIndexAnswersAsTheLinearRuleDoes.
//
// # Waiting in the queue
//
// Pods are scheduled in order of priority and, of the same priority, in the order in
// which they were put in the queue.
//
// A pod that no node fits gets an event and the condition PodScheduled=False, and
// waits for an event that could help the plugins that refused it (each lists
// them in EventsToRegister), at most for five minutes. After each refusal it has a backoff, 1 s doubling
// to 10 s, during which all others go first; when no other pod waits it is tried
// again at once.
//
// A pod whose attempt failed with an error, or for which there are no nodes at all, waits
// for its backoff in any case, and events do not shorten it. A backoff that ends within a second of the clock lasts until that
// second is over: the first takes between 1 and 2 s.
//
// # Preemption
//
// preempt looks, for a pod that fits nowhere, for pods of lower priority whose end would let it fit, and prepareCandidate deletes them
// (preemption.go), or ends their binding if their volumes are still being bound: such a pod stays, and is tried again. The node is nominated
// for the pod: until it is there, pods of its priority or less do not get the room (nominator.go). What would be without the victims is asked
// of the same plugins (fitsWith). In a cluster without priorities nothing of this happens.
//
// # Deviations from upstream
//
//   - A pod for which the binding of another has been ended is tried again when that one has given its place back; upstream tries it while this happens, and
//     may delete the other pod after all. A pod whose last victim turns out to be gone is tried again at once; upstream may miss that and wait for the flush.
//   - Among pods without a priority no place is kept for one that is nominated.
//   - Groups of pods are not preempted as one.
//   - After five errors in a row a pod is no longer retried on its own but by the
//     next event or the flush every 30 s, so that a cluster with a lasting error
//     comes to rest. When it wakes up it has the backoff that it
//     would have had by then.
//   - Nodes are looked at one after the other. Upstream looks at several at once, so that
//     which of them are found, if not all, and which of equal ones comes first, depends on
//     its threads; here equal ones are taken in order, beginning after a node on which the pod's
//     volumes could not be bound, from the second such failure on, or as the policy chooses. Within a
//     zone nodes are in order of name, upstream in the order in which they came.
//   - The result for one pod is not kept for the next (OpportunisticBatching, which
//     saves time and finds the same).
//   - There are the scores of NodeResourcesFit (LeastAllocated),
//     NodeResourcesBalancedAllocation, NodeAffinity, TaintToleration, PodTopologySpread
//     (with the default constraints), InterPodAffinity and VolumeBinding (StorageCapacityScoring, with the
//     default shape).
//   - Restoring the assume cache takes off only the very object that was laid
//     on; upstream goes by resource version.
//   - NodeVolumeLimits tells a volume that is still to be made by its claim;
//     upstream makes up a random handle.
//   - A claim named by two of a pod's volumes is searched a volume twice, as
//     upstream, although that is not intended: one local volume is then not enough,
//     and provisioning takes two attempts.
//   - Left out: dynamic resources, image
//     locality, extenders, profiles and in-tree to CSI migration.
//
// # Why a pod has no node
//
// Explain asks the same plugins about every node and says in words what
// upstream's reasons leave out, and what each of the pod's claims would get there.
package scheduler
