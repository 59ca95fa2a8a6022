"""The running product: API, pages, workers, and what starts them."""
