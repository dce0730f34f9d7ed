# The commands of the project. `make up` is all that a first look needs.
.DEFAULT_GOAL := help
WARMLINE := .venv/bin/warmline
PY := .venv/bin/python
unexport PYTHONDONTWRITEBYTECODE # every process would compile all packages anew

.PHONY: help setup up dev test check format lock clean

help:            ## this list
	@sed -n 's/^\([a-z]*\): .*## /  make \1\t/p; s/^\([a-z]*\):  *## /  make \1\t/p' Makefile | expand -t 16

setup:           ## all that up, check, test and the benchmarks need, into .venv
	@bin/setup all
	@$(WARMLINE) assets

up:              ## start Warmline with its demo; Ctrl-C stops it
	@bin/setup runtime
	@exec $(WARMLINE) up

dev:             ## the same, reloading on every change
	@bin/setup all
	@exec $(WARMLINE) up --reload

test:            ## every test, in a real browser too
	@bin/setup all
	@$(WARMLINE) assets --for-tests
	@chromium="$$(bin/browser)" && WARMLINE_CHROMIUM="$$chromium" $(PY) bin/test

check:           ## lint, types, import contracts, templates, migrations
	@bin/setup all
	@bin/check

format:          ## bring the code into its shape
	@bin/setup all
	@$(PY) -m ruff check --fix-only -q . && $(PY) -m ruff format -q .

lock:            ## pin the versions anew from requirements*.in
	@bin/lock

clean:           ## remove what was built (the demo's data in .warmline stay)
	@rm -rf .venv .tools node_modules static/vendor .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
