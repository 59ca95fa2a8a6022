"""aiohttp: one thread, an event loop."""

from aiohttp import web  # type: ignore[import-not-found]  # only in the image
from app import BODY


async def answer(_: web.Request) -> web.Response:
    """Answer every request alike."""
    return web.Response(body=BODY, content_type="text/plain")


app = web.Application()
app.router.add_get("/", answer)
web.run_app(app, port=8000, backlog=4096, access_log=None, print=None)
