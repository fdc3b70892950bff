# `make check` is all anyone needs to remember: it is what CI runs.

.PHONY: help check nightly quick test lint race bench update dist

help: ## what there is to make; make alone prints it, too
	@sed -n 's/^\([a-z]*\): ## /\1\t/p' Makefile | expand -t 10

check: ## everything CI runs
	bash .ci/run

nightly: ## what takes hours: all under the race detector, long explorations, whole fuzz tests, real programs
	bash .ci/nightly

quick: ## formatting, all types, and the linter and tests (fewer seeds) of what differs from main: while you work
	bash .ci/run format changed

test: ## all tests, and those of the modules under examples/
	bash .ci/run test modules

lint: ## formatting, go vet and internal/lint
	bash .ci/run format lint

race: ## what has concurrency under the race detector
	bash .ci/run race

bench: ## the benchmarks behind docs/benchmarks.md
	go test -run '^$$' -bench . -benchmem ./...

update: ## rewrite the golden files of stories and examples; read the diff before committing it
	go test ./story ./cmd/storagesim ./examples ./examples/internal/pictures -update
	go test ./docs ./internal/gaps ./internal/release ./internal/items -update

dist: ## the command for five platforms, with checksums and lists of their modules, in dist/
	bash .ci/dist dist
