"""HTTP API on loopback with scripted failures; base of the fake services."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    """Request from a client, with lower-case header names."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def place(self) -> str:
        """Return the path without its query and trailing slash."""
        return urlsplit(self.path).path.rstrip("/") or "/"

    @cached_property
    def query(self) -> dict[str, str]:
        return _first(urlsplit(self.path).query)

    @cached_property
    def form(self) -> dict[str, str]:
        return _first(self.body.decode())

    @cached_property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """Scripted response.

    `takes`: process the request all the same. `silent`: send nothing and hold the connection. `hangs_up`:
    close it at once. `drips`: send one byte of the body every 0.1 s.
    """

    status: int = 200
    body: bytes | str | dict[str, Any] | list[Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    takes: bool = False
    silent: bool = False
    hangs_up: bool = False
    drips: bool = False


class ApiServer:
    """Fake service, used as a context manager.

    `says` is the reply to every posting request (see `posts`), `paths` the replies by path to all others.
    Subclasses add `usual`. `seconds` is the delay before each response.
    """

    def __init__(self) -> None:
        self.says: Reply | None = None
        self.paths: dict[str, Reply] = {}
        self.requests: list[Request] = []
        self.seconds = 0.0
        self.stopping = threading.Event()
        self.lock = threading.RLock()
        self._http = _Http(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def asked(self, path: str) -> list[Request]:
        """Return the requests for a path, ignoring the query."""
        return [request for request in self.requests if request.place == path]

    def posts(self, request: Request) -> bool:
        """Return whether `says` is the reply to this request."""
        return request.method in ("POST", "PUT")

    def usual(self, request: Request) -> Reply:
        """Return the normal reply. Called with the lock held."""
        raise NotImplementedError

    def answer(self, request: Request) -> Reply:
        """Return the scripted reply, or else the usual one."""
        with self.lock:
            self.requests.append(request)
            told = self.says if self.says and self.posts(request) else self.paths.get(request.place)
            if told is None:
                return self.usual(request)
            if told.takes:
                self.usual(request)
            return told


def _first(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, service: ApiServer) -> None:
        self.service = service
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5

    def do_GET(self) -> None:
        assert isinstance(self.server, _Http)
        service = self.server.service
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = service.answer(Request(self.command, self.path, headers, body))
        if service.seconds:
            service.stopping.wait(service.seconds)
        if reply.silent:
            service.stopping.wait(5)
        if reply.silent or reply.hangs_up:
            self.close_connection = True
            return
        self._send(reply, service.stopping)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        pass

    def _send(self, reply: Reply, stopping: threading.Event) -> None:
        data = reply.body if isinstance(reply.body, bytes | str) else json.dumps(reply.body)
        body = data.encode() if isinstance(data, str) else data
        self.send_response(reply.status)
        if "Content-Type" not in reply.headers:
            self.send_header("Content-Type", "application/json; charset=utf-8")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            for octet in body if reply.drips else ():
                self.wfile.write(bytes([octet]))
                if stopping.wait(0.1):
                    return
            if not reply.drips and reply.status != 204:
                self.wfile.write(body)
        except OSError:  # a test of limits: the client hung up
            self.close_connection = True
