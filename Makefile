# The everyday commands. `make help` lists them.

SHELL := /bin/bash
LINT_JOBS ?= 2
SOURCES = $(shell find include src tests examples -name '*.h' -o -name '*.hpp' -o -name '*.cc')

.DEFAULT_GOAL := help
.PHONY: help run build test bench asan tsan format format-check lint clean bootstrap bootstrap-lint

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## build the program and run its demonstration
	build/release/ff demo

build: bootstrap ## build the program: build/release/ff
	@cmake --preset release --log-level=WARNING > /dev/null
	cmake --build --preset release --target ff

bench: build ## build the program and print its benchmark figures
	build/release/ff bench

test: bootstrap ## build everything and run all tests
	@scripts/run_tests.sh test

asan: bootstrap ## run all tests under the address and undefined-behaviour sanitizers
	@scripts/run_tests.sh asan

tsan: bootstrap ## run all tests under the thread sanitizer
	@scripts/run_tests.sh tsan

format: bootstrap-lint ## format all sources in place
	@clang-format-19 -i $(SOURCES)

format-check: bootstrap-lint ## fail when a source is not formatted
	@clang-format-19 --dry-run --Werror $(SOURCES)

lint: bootstrap-lint ## compile every header alone, run clang-tidy over src
	@cmake --preset dev --log-level=WARNING > /dev/null
	@cmake --build --preset dev --target ff_header_check
	@cmake --preset lint --log-level=WARNING > /dev/null
	@find src -name '*.cc' -print0 | sort -z \
	    | xargs -0 -r -n 1 -P $(LINT_JOBS) clang-tidy-19 -p build/lint --quiet \
	    2> >(grep -v 'warnings generated' >&2)

clean: ## remove everything that was built
	@scripts/postgres.sh stop
	rm -rf build

bootstrap:
	@scripts/bootstrap.sh

bootstrap-lint:
	@scripts/bootstrap.sh --lint
