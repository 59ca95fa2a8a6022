"""Pure Python work and nothing to wait for: more workers than cores only take turns."""

import json

# About 3 ms. The distances stay below 256, numbers that CPython keeps ready: a loop that made larger ones took 10 % less
# or more time depending on options that have nothing to do with it.
ASKED = "uwsgi listens on a socket and serves python applications " * 3
STORED = "nginx proxies every request to a socket on which uwsgi listens " * 3


def application(environ, start_response):
    body = json.dumps({"distance": edit_distance(ASKED, STORED)}).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]


def edit_distance(left, right):
    """Levenshtein's, row by row."""
    row = list(range(len(right) + 1))
    for count, a in enumerate(left, start=1):
        above, row[0] = row[0], count
        for position, b in enumerate(right, start=1):
            best = above if a == b else 1 + min(above, row[position], row[position - 1])
            above, row[position] = row[position], best
    return row[-1]
