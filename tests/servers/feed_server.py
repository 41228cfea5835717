"""HTTP server on loopback that records requests and sends scripted responses."""

import ssl
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """Request from a client, with lower-case header names."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Reply:
    """Scripted response. `drip` is the pause in seconds after each `piece` bytes of the body."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float | None = None
    piece: int = 1


class FeedServer:
    """Scripted server, used as a context manager.

    Unknown paths return 404. `port` 0 picks a free one. `tls` serves https.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self._replies: dict[str, Reply | Callable[[Request], Reply]] = {}
        self._stopping = threading.Event()
        self._http = _Http((host, port), self, tls)
        self._scheme = "https" if tls else "http"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def serve(
        self,
        path: str,
        body: bytes | str = b"",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        drip: float | None = None,
        piece: int = 1,
    ) -> str:
        """Script a path and return its URL. Replaces an earlier script."""
        data = body.encode() if isinstance(body, str) else body
        self._replies[path] = Reply(data, status, headers or {}, drip, piece)
        return self.url(path)

    def answer(self, path: str, reply: Callable[[Request], Reply]) -> str:
        """Script a path by a function of the request."""
        self._replies[path] = reply
        return self.url(path)

    def clear(self) -> None:
        """Forget all scripts and requests, for tests that share a server."""
        self._replies.clear()
        self.requests.clear()

    def redirect(self, path: str, to: str, status: int = 302) -> str:
        return self.serve(path, status=status, headers={"Location": to})

    def url(self, path: str = "/") -> str:
        return f"{self._scheme}://{self.host}:{self.port}{path}"

    def asked(self, path: str) -> list[Request]:
        """Return the requests for one path, query included, in order."""
        return [request for request in self.requests if request.path == path]

    @property
    def host(self) -> str:
        return str(self._http.server_address[0])

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def reply_to(self, request: Request) -> Reply:
        self.requests.append(request)
        found = self._replies.get(request.path) or self._replies.get(request.path.partition("?")[0])
        if callable(found):
            return found(request)
        return found or Reply(b"Not found", 404, {"Content-Type": "text/plain"})

    def pause(self, seconds: float) -> bool:
        """Wait; return False if the server is being stopped."""
        return not self._stopping.wait(seconds)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: FeedServer, tls: ssl.SSLContext | None) -> None:
        self.owner, self.tls = owner, tls
        super().__init__(address, _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.tls is None:
            return super().finish_request(request, client_address)
        # In the request's own thread: a failed handshake must not block other clients.
        with self.tls.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that hang up, which tests of limits provoke."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 30
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.owner.connections += 1

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.owner.reply_to(Request(self.command, self.path, headers, body))
        sent = {"Content-Type": "application/xml", "Content-Length": str(len(reply.body)), **reply.headers}
        self.send_response_only(reply.status)
        sent.setdefault("Date", self.date_time_string())
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and reply.status != 304:
            self._write(reply)

    def _write(self, reply: Reply) -> None:
        step = CHUNK if reply.drip is None else reply.piece
        try:
            for start in range(0, len(reply.body), step):
                self.wfile.write(reply.body[start : start + step])
                if reply.drip is not None and not self.server.owner.pause(reply.drip):
                    break
        except OSError:  # a test of limits: the client hung up
            self.close_connection = True

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing; tests read `requests`."""


def wait_until(condition: Callable[[], bool], *, seconds: float = 5.0) -> bool:
    """Poll every 10 ms; return whether the condition became true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
