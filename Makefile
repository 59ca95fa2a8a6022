# tuner/provision sets up everything that a command needs, and knows what each command does: `make help` lists them.
PYTHON ?= python3
PROVISION = $(PYTHON) -m tuner.provision
ARGS ?=

COMMANDS = demo measure calibrate serve setup images journeys docs sbom check test test-all \
	bench-host bench-honesty bench-classes bench-observe bench-burst bench-cost bench-search bench-record bench-planted bench-nulls bench-fragility bench-ini bench-lint bench-logs bench-capacity bench-polls bench-events bench-pages bench-lighthouse bench-hostile \
	bench-services bench-round-trips bench-backing bench-real bench-placement bench-service-kills bench-faults bench-pool bench-login bench-spent bench-suites bench-years

.PHONY: help clean clean-images $(COMMANDS)
.DEFAULT_GOAL := help

help: # list the commands
	@$(PROVISION) --help

$(COMMANDS): # ARGS="..." is passed on to the program that the command starts
	@$(PROVISION) $@ $(ARGS)

docs: export NO_MKDOCS_2_WARNING = 1

clean: # remove every container, network, volume and state of data that the product left behind
	@docker ps --all --quiet --filter label=tuner --filter name=tuner- | xargs -r docker rm --force --volumes
	@docker network ls --quiet --filter label=tuner | xargs -r docker network rm
	@docker volume ls --quiet --filter label=tuner | xargs -r docker volume rm
	@docker images --quiet uwsgi-tuner/state | sort -u | xargs -r docker rmi --force

clean-images: clean # remove the images too; the next run builds them again
	@docker images --quiet 'uwsgi-tuner/*' | sort -u | xargs -r docker rmi --force
	@docker image prune --force --filter label=tuner.image >/dev/null # what later builds replaced
