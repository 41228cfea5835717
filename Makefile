# Needs python3 (3.11 or newer, with venv) and make. Everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PACKAGES := common migrate_from feeds subscriptions channels delivery reader fediverse chat feedletter_site demo
BASE := $(VENV)/.base-installed
DEV := $(VENV)/.dev-installed
DOCS := $(VENV)/.docs-installed

.PHONY: demo run dev test nightly lint mypy bench chaos docs pictures reference messages requirements clean

demo: $(BASE)
	@$(PY) manage.py demo

run: $(BASE)
	@$(PY) manage.py up

# Installs what tests and linters need.
dev: $(DEV)

test: $(DEV)
	$(PY) -m tests.run $(ARGS)

# All tiers, with every example and the tests that take minutes (hours in all).
nightly: $(DEV)
	REQUIRE_SERVICES=1 $(PY) -m tests.run --nightly

lint: $(DEV)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(MAKE) --no-print-directory mypy
	$(VENV)/bin/lint-imports
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m tests.upgrade.safety
	$(PY) manage.py spectacular --validate --fail-on-warn --file /dev/null
	$(VENV)/bin/djlint --lint --quiet templates feedletter_site/templates
	$(PY) -m bench.prose
	$(PY) -m bench.house --check

mypy: $(DEV)
	$(VENV)/bin/mypy manage.py feedletter_command.py $(PACKAGES) tests bench

bench: $(DEV)
	$(PY) -m bench

# Workers and servers die, freeze, go away or have the wrong time while letters go out (half an hour).
chaos: $(DEV)
	$(PY) -m tests.load.chaos

# Builds the documentation as a site in var/docs/site, which any web server can serve.
docs: $(DOCS)
	$(PY) -m tests.documentation.site

# Takes the pictures of README.md and docs/ anew, in Chromium. (PICTURES="morning look" takes some.)
pictures: $(DEV)
	$(PY) -m tests.documentation.pictures $(PICTURES)

# Writes docs/reference/ anew.
reference: $(DEV)
	$(PY) -m tests.documentation.reference

# Brings the catalogues in locale/ up to date with what is said, and compiles them. Needs GNU gettext.
SILENT := .venv* static-root var docs bench tests requirements templates/admin feedletter_site/templates
messages: $(DEV)
	$(PY) manage.py makemessages --all --no-obsolete --no-wrap --add-location=file --extension=html,txt,py \
		$(SILENT:%=--ignore='%') --ignore='*/admin/*' --ignore='*/api/*' --ignore='*/management/*'
	$(PY) manage.py compilemessages --ignore='.venv*'

# Pins with hashes and without any index's address, for every platform and Python from 3.11.
COMPILE := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --generate-hashes
requirements: $(DEV)
	$(COMPILE) requirements/base.in --output-file requirements/base.txt
	$(COMPILE) requirements/dev.in --output-file requirements/dev.txt --constraints requirements/base.txt
	$(COMPILE) requirements/docs.in --output-file requirements/docs.txt --constraints requirements/dev.txt

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit("Feedletter needs Python 3.11 or newer: make PYTHON=python3.12" \
		if sys.version_info < (3, 11) else 0)'
	@echo "Creating .venv (about five seconds) …"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

INSTALL := $(PY) requirements/install.py
$(BASE): requirements/base.txt | $(PY)
	@test $(DEV) -nt $< || $(INSTALL) $< "about half a minute"
	@touch $@

$(DEV): requirements/dev.txt requirements/base.txt | $(PY)
	@$(INSTALL) $< "about a minute"
	@touch $@ $(BASE)

$(DOCS): requirements/docs.txt | $(PY)
	@$(INSTALL) $< "a few seconds"
	@touch $@

clean:
	rm -rf $(VENV) static-root .mypy_cache .ruff_cache .pytest_cache .hypothesis
