"""uvicorn serves ASGI; a2wsgi is the adapter that its documentation names."""

from typing import Any

from a2wsgi import WSGIMiddleware  # type: ignore[import-not-found]  # only in the image
from app import application


def made() -> Any:
    """The app behind the adapter."""
    return WSGIMiddleware(application)
