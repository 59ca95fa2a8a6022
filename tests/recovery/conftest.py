"""Real PostgreSQL without the service around it, for tests that start their own workers."""

from tests.postgres import database_url, postgres_store

__all__ = ["database_url", "postgres_store"]
