# Everything that a target needs is set up by tuner/provision: idempotent, one line a step, the standard library only.
PYTHON ?= python3
PROVISION = $(PYTHON) -m tuner.provision
ARGS ?=

.PHONY: help docs demo measure calibrate test check images journeys serve bench-host bench-honesty bench-classes bench-burst bench-cost bench-search bench-planted bench-nulls bench-ini bench-polls setup clean clean-images
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## set up what is missing, then tune a real app in a container and print the uwsgi.ini (ARGS="..." is passed on)
	@$(PROVISION) demo $(ARGS)

measure: ## set up what is missing, then measure files without tuning: ARGS="mixed --ini a.ini --ini b.ini"
	@$(PROVISION) measure $(ARGS)

calibrate: ## set up what is missing, then print what this machine can tell apart, and in which time
	@$(PROVISION) calibrate $(ARGS)

test: ## set up what is missing, then every check and every test level, real Docker and PostgreSQL included
	@$(PROVISION) test

check: ## format, lint, imports, types, unit and contract tests: fast, without Docker
	@$(PROVISION) check

docs: setup ## build docs/ and the lint pages into one static site in site/
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet --strict --config-file .ci/mkdocs.yml && echo "[ok] open site/index.html"

serve: ## set up what is missing, then run the service on 127.0.0.1:8321 (ARGS="..." is passed on)
	@$(PROVISION) serve $(ARGS)

images: ## have the base image and the load generator image
	@$(PROVISION) images

journeys: ## have the load generator image with k6 too: for bursts, journeys and mixes of unlike requests
	@$(PROVISION) journeys

bench-host: ## print how well this machine measures
	@$(PROVISION) bench-host $(ARGS)

bench-honesty: ## A/A sets and a planted +5 %: does the measuring lie? (about 35 minutes; stops and goes on)
	@$(PROVISION) bench-honesty $(ARGS)

bench-classes: ## provoke every bottleneck and print which one is named
	@$(PROVISION) bench-classes $(ARGS)

bench-burst: ## 500 users at once, listen at 100 and 4096, with and without nginx
	@$(PROVISION) bench-burst $(ARGS)

bench-cost: ## what measuring itself costs: windows, starts, the generators' CPU
	@$(PROVISION) bench-cost $(ARGS)

bench-search: ## replay whole jobs on recorded landscapes: regret, false claims, lines kept (stops and goes on)
	@$(PROVISION) bench-search $(ARGS)

bench-planted: ## plant a gain, and options that look good and must never ship, as jobs on containers (about 75 minutes; stops and goes on)
	@$(PROVISION) bench-planted $(ARGS)

bench-nulls: ## 20 jobs in the demo budget where no option matters: at most 3 may claim a gain (ARGS="--jobs 5" runs 5 more)
	@$(PROVISION) bench-nulls $(ARGS)

bench-ini: ## parse, lint and patch a file of 300 lines
	@$(PROVISION) bench-ini $(ARGS)

bench-polls: ## 200 polls a second by If-None-Match, with 10 000 trials in the database
	@$(PROVISION) bench-polls $(ARGS)

setup: ## set up what is missing and nothing more
	@$(PROVISION) setup

clean: ## remove every container the product left behind
	@docker ps --all --quiet --filter label=tuner | xargs -r docker rm --force

clean-images: clean ## remove the images too; the next run builds them again
	@docker images --quiet 'uwsgi-tuner/*' | sort -u | xargs -r docker rmi --force
	@docker image prune --force --filter label=tuner.image >/dev/null # what later builds replaced
