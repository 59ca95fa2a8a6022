"""Real PostgreSQL for every test of this level."""

from tests.postgres import database_url, empty_database_url, postgres_store

__all__ = ["database_url", "empty_database_url", "postgres_store"]
