// Package operators runs operators that others wrote, as they are released, beside a simulated cluster, and crashes them between two of their
// calls: one release of RabbitMQ's cluster operator forgets then that the claims are to grow, and a later one does not. Each release is a program
// in a module of its own (rabbitmq-v1.6, rabbitmq-v1.14), since it needs libraries of its own.
//
// In percona-v1.15 a test of its own plays Percona's operator for XtraDB clusters as an actor (live/ctrlruntime), in steps: it forgets claims that it
// was about to delete.
//
// .ci/nightly operators builds and runs them. RabbitMQ's are child processes, which wait for leases and retries in real time: about a minute.
// Percona's takes two seconds.
package operators
