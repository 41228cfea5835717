"""Page of a blog with pasted HTML in it."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>A blog</title>
  <style>
    body {{ margin: 0 auto; max-width: 44rem; padding: 2rem 1.25rem; font: 1.0625rem/1.6 Georgia, serif;
      background: {ground}; color: {ink}; }}
    a {{ color: inherit; }}
  </style>
</head>
<body>
  <h1>Notes from the workshop</h1>
  <p>A post about planes, chisels and the smell of cedar. If you liked it, there is more of that by mail.</p>
  <div>{pasted}</div>
  <p>Thank you for reading this far.</p>
</body>
</html>"""


class BlogPage:
    """Server of the page on every path of 127.0.0.1. `pasted`, `ground` and `ink` may change at any time."""

    def __init__(self) -> None:
        self.pasted, self.ground, self.ink = "", "#ffffff", "#222222"
        blog = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = PAGE.format(pasted=blog.pasted, ground=blog.ground, ink=blog.ink).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}/post"

    def __enter__(self) -> "BlogPage":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self._server.shutdown()
        self._server.server_close()
