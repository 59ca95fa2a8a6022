"""The service over HTTP: typed answers, retries, ETags, and its problems as our errors."""
