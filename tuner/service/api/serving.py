"""The API process: uvicorn, which does not wait for streams that never end."""

import resource
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from tuner.service.api.feed import Feed

STOP_WITHIN_S = 5
_FAILED_TO_START = 3  # uvicorn's own exit code


class _Server(uvicorn.Server):
    """Ends the streams first: it waits for all connections to close."""

    def __init__(self, config: uvicorn.Config, feed: Feed) -> None:
        super().__init__(config)
        self._feed = feed

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._feed.stop()
        await super().shutdown(sockets)


def serve(
    app: FastAPI,
    host: str,
    port: int,
    *,
    base_path: str = "",
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    proxies: Sequence[str] = (),
) -> None:
    """Serve an app of `create_app` until SIGTERM or SIGINT. Exits where it cannot listen.

    With a certificate and its key, https. `proxies` are the addresses whose X-Forwarded-For and
    X-Forwarded-Proto count.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a stream is an open file
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        root_path=base_path,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
    server = _Server(config, app.state.services.feed)
    try:
        server.run()
    except KeyboardInterrupt:
        return
    if not server.started:
        sys.exit(_FAILED_TO_START)
