"""A service's API on loopback that fails as it is told: the ground on which each fake service stands."""

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
    """What a client asked; header names lower-cased."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def place(self) -> str:
        """The path without its query, and without a slash at its end."""
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
    """An answer instead of the usual one.

    `takes`: the request is done all the same. `silent`: no answer, the connection is held; `hangs_up`: it is
    closed at once; `drips`: an octet of the body every tenth of a second.
    """

    status: int = 200
    body: bytes | str | dict[str, Any] | list[Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    takes: bool = False
    silent: bool = False
    hangs_up: bool = False
    drips: bool = False


class ApiServer:
    """Use as a context manager. `says` is the reply to every request that posts (see `posts`), by path to
    others; a fake service adds `usual`. `seconds` is how long each answer takes."""

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
        """The requests for a path, its query left out."""
        return [request for request in self.requests if request.place == path]

    def posts(self, request: Request) -> bool:
        """Whether the request is the one that makes a message: what `says` is the reply to."""
        return request.method in ("POST", "PUT")

    def usual(self, request: Request) -> Reply:
        """What the service does with a request. Called with the lock held."""
        raise NotImplementedError

    def answer(self, request: Request) -> Reply:
        """The reply to a request; what is told beforehand goes before what is usual."""
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
        except OSError:  # the client had enough
            self.close_connection = True
