# `make check` is all anyone needs to remember: it is what CI runs.

.PHONY: check quick test lint race bench update

check: ## everything CI runs
	bash .ci/run

quick: ## formatting, go vet and all tests with fewer seeds: while you work
	bash .ci/run format vet short

test: ## all tests, and those of the modules under examples/
	bash .ci/run test modules

lint: ## formatting, go vet, golangci-lint
	bash .ci/run format vet lint

race: ## all tests under the race detector, with fewer seeds where there is no concurrency
	bash .ci/run race

bench: ## the benchmarks behind docs/benchmarks.md
	go test -run '^$$' -bench . -benchmem ./...

update: ## rewrite the golden files of stories and examples; read the diff before committing it
	go test ./story ./examples/... -update
	go test ./docs -update
