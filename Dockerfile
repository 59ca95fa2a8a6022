# The service: API and worker. Nothing here compiles, so any CPython 3.11-3.13 image on Debian will do; behind a network
# that inspects TLS take the one that `make images` makes: --build-arg PYTHON_IMAGE=uwsgi-tuner/python:local
ARG PYTHON_IMAGE=python:3.12-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir uv==0.13.9
WORKDIR /src
ENV UV_PROJECT_ENVIRONMENT=/opt/tuner UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_NO_CACHE=1
# The dependencies first: they change less often than the code.
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN /opt/uv/bin/uv sync --locked --no-dev --no-install-project --python "$(command -v python3)"
COPY migrations ./migrations
COPY search_spaces ./search_spaces
COPY target_apps ./target_apps
COPY tuner ./tuner
RUN /opt/uv/bin/uv sync --locked --no-dev --no-editable --python "$(command -v python3)"
LABEL tuner.image=service

FROM ${PYTHON_IMAGE}
RUN useradd --uid 10001 --user-group --create-home --home-dir /var/lib/tuner tuner \
    && install --directory --owner tuner --group tuner --mode 0700 /var/lib/tuner-dumps
COPY --from=build /opt/tuner /opt/tuner
ENV PATH=/opt/tuner/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /var/lib/tuner
USER tuner
EXPOSE 8321
LABEL tuner.image=service
ENTRYPOINT ["tuner"]
CMD ["serve", "--no-worker"]
