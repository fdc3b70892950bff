// Package workloads says what is wrong with the kinds that make pods, and with disruption budgets, which count them.
package workloads
