"""gunicorn worker that passes only complete requests to threads.

gunicorn's own blocks a thread from the first byte on, without a time limit, so a few half-sent requests stop
the service. Here one loop reads all requests within a time limit.

In common because feedletter_site would load Django's settings and Celery in gunicorn's parent process, 20 MB.
"""

import errno
import re
import socket
import time
from collections import deque
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn.errors import ConfigError
from gunicorn.workers.gthread import TConn, ThreadWorker

from common.body_limits import MAX_FORM_BYTES
from common.shutdown import finished_last, stopping

LONGEST_HEAD = 64 * 1024
READ_AT_ONCE = 64 * 1024
# Most answers fit into the kernel's buffer, so slow readers block no thread.
SEND_BUFFER = 208 * 1024
# Bytes per second; a slower upload is aborted.
SLOWEST = 8 * 1024
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,15})[ \t]*\r\n", re.IGNORECASE)
_EXPECTS = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)


def is_whole(received: bytes | bytearray) -> bool:
    """Return whether the head is complete, and the body unless it is larger than a form."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    match = _LENGTH.search(received, 0, end + 2)
    length = int(match[1]) if match else 0
    return length > MAX_FORM_BYTES or len(received) >= end + 4 + length


def waits_to_go_on(received: bytes | bytearray) -> bool:
    """Return whether the client waits for 100 Continue (RFC 9110 §10.1.1)."""
    end = received.find(b"\r\n\r\n")
    return end >= 0 and _EXPECTS.search(received, 0, end + 2) is not None


class TimedSocket(socket.socket):
    """Has `seconds` for blocking calls, and more as bytes arrive."""

    seconds = 20.0
    # Seconds of waiting left, without the program's own time.
    _patience = 0.0

    @classmethod
    def of(cls, accepted: socket.socket) -> "TimedSocket":
        return cls(accepted.family, accepted.type, accepted.proto, accepted.detach())

    def setblocking(self, flag: bool, /) -> None:
        self.settimeout(self.seconds if flag else 0)
        self._patience = self.seconds

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        allowed = self.gettimeout()
        if not allowed:
            return super().recv(size, flags)
        if self._patience <= 0:
            raise TimeoutError("the body arrives too slowly")
        self.settimeout(min(self._patience, allowed))
        began = time.monotonic()
        data = super().recv(size, flags)
        earned = len(data) / SLOWEST - (time.monotonic() - began)
        self._patience = min(self._patience + earned, self.seconds)
        self.settimeout(allowed)
        return data


class Connection(TConn):  # type: ignore[misc]
    """`received` is the start of the next request."""

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.received = bytearray()
        self.is_told_to_go_on = False
        self.data_ready = True


class BufferingWorker(ThreadWorker):  # type: ignore[misc]
    # For a head and a form-sized body.
    request_seconds = 20.0
    linger_seconds = 2.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.closing_conns: deque[Connection] = deque()

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        super().check_config(cfg, log)
        if cfg.is_ssl:
            raise ConfigError("This worker speaks plain HTTP: use a proxy in front of it for TLS.")

    def run(self) -> None:
        super().run()
        for thread in finished_last:
            thread.join()

    def handle_exit(self, sig: int, frame: Any) -> None:
        stopping.set()
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: Any) -> None:
        stopping.set()
        super().handle_quit(sig, frame)

    def is_parent_alive(self) -> bool:
        is_alive = bool(super().is_parent_alive())
        if not is_alive:
            # Do not wait for endless responses.
            stopping.set()
        return is_alive

    def accept(self, listener: Any) -> None:
        self.make_room()
        try:
            accepted, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                return
            raise
        client = TimedSocket.of(accepted)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self.nr_conns += 1
        self.await_request(Connection(self.cfg, client, address, listener.getsockname()))

    def make_room(self) -> None:
        if self.nr_conns + 1 >= self.worker_connections:
            for conns in (self.closing_conns, self.keepalived_conns, self.pending_conns):
                if conns:
                    self.drop(conns[0], conns)
                    return

    def await_request(self, conn: Connection) -> None:
        conn.timeout = time.monotonic() + self.request_seconds
        conn.is_told_to_go_on = False
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn))
        if not self.goes_to_a_thread(conn):
            self.on_pending_socket_readable(conn, conn.sock)

    def on_pending_socket_readable(self, conn: Connection, client: Any) -> None:
        piece = self.received(client)
        if piece is None:
            return
        if not piece:
            self.drop(conn, self.pending_conns)
            return
        conn.received += piece
        if not self.goes_to_a_thread(conn) and not conn.is_told_to_go_on and waits_to_go_on(conn.received):
            conn.is_told_to_go_on = True
            self.tell(conn, GO_ON)

    def goes_to_a_thread(self, conn: Connection) -> bool:
        """Enqueue a complete request or refuse an endless head; return whether either happened."""
        # Empty lines before a request are skipped (RFC 9112 §2.2).
        conn.received[:] = conn.received.lstrip(b"\r\n")
        if is_whole(conn.received):
            self.forget(conn, self.pending_conns)
            self.enqueue_req(conn)
            return True
        if len(conn.received) > LONGEST_HEAD and b"\r\n\r\n" not in conn.received:
            self.forget(conn, self.pending_conns)
            self.tell(conn, TOO_LONG)
            self.linger(conn)
            return True
        return False

    def handle(self, conn: Connection) -> Any:
        conn.init()
        conn.parser.unreader.unread(bytes(conn.received))
        conn.received.clear()
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Connection) -> Any:
        try:
            return super().handle_request(req, conn)
        except TimeoutError as error:
            # gunicorn does not log clients that disconnect.
            raise ConnectionResetError(errno.ECONNRESET, str(error)) from error

    def finish_request(self, conn: Connection, fs: Any) -> None:
        try:
            stays = bool(fs.result())
        except Exception:  # noqa: BLE001 - as gunicorn does: whatever went wrong, this connection ends
            stays = False
        if not stays:
            self.linger(conn)
            return
        conn.received += conn.parser.unreader.take_buffered()
        conn.sock.setblocking(False)
        if conn.received:
            self.await_request(conn)
            return
        conn.set_timeout()
        if not self.alive:
            conn.timeout = min(conn.timeout, time.monotonic() + self.linger_seconds)
        self.keepalived_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_client_socket_readable, conn))

    def on_client_socket_readable(self, conn: Connection, client: Any) -> None:
        if conn in self.keepalived_conns:
            self.forget(conn, self.keepalived_conns)
            self.await_request(conn)

    def linger(self, conn: Connection) -> None:
        """Close after the client has read the answer (RFC 9112 §9.6), without blocking."""
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.nr_conns -= 1
            conn.close()
            return
        conn.timeout = time.monotonic() + self.linger_seconds
        self.closing_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_closing_socket_readable, conn))

    def on_closing_socket_readable(self, conn: Connection, client: Any) -> None:
        if self.received(client) == b"":
            self.drop(conn, self.closing_conns)

    def murder_pending(self) -> None:
        now = time.monotonic()
        for conn in list(self.pending_conns):
            # A stopping worker does not wait for silent clients.
            if conn.timeout <= now or not (self.alive or conn.received):
                self.drop(conn, self.pending_conns)
        for conn in list(self.closing_conns):
            if conn.timeout <= now:
                self.drop(conn, self.closing_conns)

    def received(self, client: Any) -> bytes | None:
        """Return None if there are no bytes yet, b"" at the end."""
        try:
            return bytes(client.recv(READ_AT_ONCE))
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def tell(self, conn: Connection, words: bytes) -> None:
        """The bytes fit into the kernel's buffer or are lost."""
        try:
            conn.sock.send(words)
        except OSError:
            self.log.debug("The client is gone.")

    def forget(self, conn: Connection, conns: "deque[Connection]") -> None:
        self.poller.unregister(conn.sock)
        conns.remove(conn)

    def drop(self, conn: Connection, conns: "deque[Connection]") -> None:
        # One poll may return several events of a connection.
        if conn in conns:
            self.forget(conn, conns)
            self.nr_conns -= 1
            conn.close()
