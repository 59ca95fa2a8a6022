"""A page of 2 ms of Python; its script and style sheet are files, which uWSGI sends by itself."""

TABLE_ROWS = 34_000  # about 2 ms of pure Python


def application(environ, start_response):
    body = f"<title>{len(render(TABLE_ROWS))}</title><script src=/static/app.js></script>".encode()
    headers = [("Content-Type", "text/html"), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]


def render(rows):
    return "".join([f"<td>{number & 127}</td>" for number in range(rows)])
