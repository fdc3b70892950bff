// Package operators runs operators that others wrote, as they are released, beside a simulated cluster, and crashes them between two of their
// calls: one release of RabbitMQ's cluster operator forgets then that the claims are to grow, and a later one does not. Each release is a program
// in a module of its own (rabbitmq-v1.6, rabbitmq-v1.14), since it needs libraries of its own.
//
// .ci/nightly operators builds and runs them. They are child processes, which wait for leases and retries in real time: about a minute.
package operators
