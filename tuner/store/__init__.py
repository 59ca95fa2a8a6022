"""What lasts: rows in PostgreSQL, and the queue in the same transactions."""
