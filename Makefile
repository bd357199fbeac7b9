# run: from a fresh checkout to a working service      test: everything that CI runs      test-quick: a part, within 90 s
# check: lint, types, imports, words, citations, settings       fix: what tools can fix            bench: measure it
# faults: kills and outages, on SQLite and PostgreSQL; a line for each
# coverage: which lines and branches of our Python the suites on SQLite run               forms.js: build it after a change
# messages: write new texts into the catalogues of the languages, and build those that Django reads
# design: build style sheet, typeface and icons after a change      sdk: the types of clients/sdk after a change of the API
# screenshots: take a picture of every page

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r

NPM_BIN := build/node/node_modules/.bin

.PHONY: run test test-quick coverage check fix bench faults forms.js design sdk screenshots messages

run: .venv/.run
	@$(BIN)/python -m config.write_env
	@exec $(BIN)/python manage.py serve

test: .venv/.dev build/node/.installed
	@$(BIN)/python -m tests.run

test-quick: .venv/.dev
	@$(BIN)/python -m tests.run --quick

coverage: .venv/.dev build/node/.installed
	@$(BIN)/python -m tests.run --coverage

# A random key, and no data/env of a developer.
SAFE = DATA_DIR=build/check EMAIL_URL=smtp://mail.example:587 SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(50))')

# Settings of a production, so that its system checks run; nothing is connected to them.
check: .venv/.dev build/node/.installed
	$(BIN)/python -m ruff check --quiet
	$(BIN)/python -m ruff format --check --quiet
	$(BIN)/djangofmt --check templates
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m tests.checks.lines
	$(NPM_BIN)/biome ci --error-on-warnings --colors=off
	$(NPM_BIN)/dockerfile-utils lint deploy/Dockerfile
	$(BIN)/python -m mypy .
	$(BIN)/python -m tests.checks.words
	$(BIN)/python -m tests.checks.citations
	$(BIN)/python -m tests.checks.silenced
	$(SAFE) DATABASE_URL=sqlite://:memory: $(BIN)/python manage.py makemigrations --check --dry-run
	$(SAFE) PUBLIC_URL=https://fieldpost.example EVENTS_URL=https://fieldpost.example ALLOWED_HOSTS=fieldpost.example TRUSTED_PROXY_COUNT=1 \
	  DATABASE_URL=postgres://fieldpost@database.example/fieldpost REDIS_URL=redis://redis.example:6379/0 \
	  DEFAULT_FROM_EMAIL=fieldpost@fieldpost.example \
	  $(BIN)/python manage.py check --deploy --fail-level WARNING

fix: .venv/.dev build/node/.installed
	$(BIN)/python -m ruff check --fix --quiet
	$(BIN)/python -m ruff format --quiet
	$(BIN)/djangofmt --quiet templates
	$(NPM_BIN)/biome check --write

# ONLY=submit,cpu: some rows; ROUNDS=9: more rounds; ROWS=10M: a larger form; SECONDS=8: longer rounds of submitting.
bench: .venv/.dev
	@$(BIN)/python -m tests.load.bench $(if $(ONLY),--only $(ONLY)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	  $(if $(ROWS),--rows $(ROWS)) $(if $(SECONDS),--seconds $(SECONDS))

faults: .venv/.dev
	@$(BIN)/python -m tests.faults.run

# The scripts of pages are built from the sources in forms_app/static; builds are committed, and a test compares them.
forms.js: .venv/.run build/node/.installed
	@$(BIN)/python -m forms_app.script.builds

# The dashboard's style sheet from dashboard/frame/design/styles, typeface and icons from npm; a test compares them.
design: .venv/.run build/node/.installed
	@$(BIN)/python -m dashboard.frame.design.build

# The types of @fieldpost/sdk, from the OpenAPI document; a test compares them.
sdk: .venv/.run build/node/.installed
	@$(SAFE) DATABASE_URL=sqlite://:memory: $(BIN)/python manage.py spectacular --format openapi-json \
	  | $(NPM_BIN)/openapi-typescript -o clients/sdk/src/schema.ts

# Pictures of every page of the dashboard, the README's three among them.
screenshots: .venv/.dev
	@$(BIN)/python -m tests.screenshots

# The catalogues of the languages. Both kinds of files are committed: a service needs no GNU gettext.
messages: .venv/.dev
	@$(BIN)/python -m tests.services.packages xgettext
	@$(BIN)/python -m tests.checks.messages

# A venv is complete when it has pip; an incomplete one, left by a Python without ensurepip, is made again.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Fieldpost needs Python 3.11 or newer: call make with PYTHON=/path/to/such/a/python" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv

.venv/.run: requirements/run.txt | $(BIN)/pip
	@echo "Installing the packages of requirements/run.txt into .venv: this takes a minute or two."
	@$(PIP) $<
	@touch $@

# After .run, not in parallel: two pips in one venv would break each other's work.
.venv/.dev: requirements/dev.txt .venv/.run
	@$(PIP) $<
	@touch $@

# Tools for our JavaScript, from hashed locks like the venv.
build/node/.installed: requirements/node/package.json requirements/node/package-lock.json requirements/node/.npmrc | .venv/.run
	@$(BIN)/python -m tests.services.packages node npm
	@mkdir -p build/node && cp $^ build/node/ && cd build/node && npm ci --ignore-scripts --silent
	@touch $@
