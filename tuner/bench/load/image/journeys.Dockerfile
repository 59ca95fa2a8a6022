# The load generator with k6 as well: only hosts that measure bursts, journeys or mixes of unlike requests need it.
# Built by `python3 -m tuner.provision journeys`, which puts the k6 binary beside this.
ARG LOAD_IMAGE=uwsgi-tuner/load:1.16.0
FROM ${LOAD_IMAGE}
COPY k6 /usr/local/bin/k6
CMD ["k6", "version"]
