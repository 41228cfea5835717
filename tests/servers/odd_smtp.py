"""SMTP servers on loopback with odd timing: they drip, stop reading, or record chunks."""

import socket
import threading
import time
from types import TracebackType
from typing import Any

from tests.servers.raw_smtp import RawServer, Reply


class OddServer(RawServer):
    """RawServer that records in `chunks` what each read returned.

    `pause` sends every octet separately, that many seconds apart. `deaf` stops reading during the data, with
    a small receive buffer.
    """

    def __init__(self, script: Any, *, pause: float = -1, deaf: bool = False, **options: Any) -> None:
        super().__init__(script, **options)
        self.pause, self.deaf = pause, deaf
        self.chunks: list[bytes] = []
        self._over = threading.Event()
        if deaf:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        super().__exit__(kind, error, trace)

    def slowly(self, pause: float, reply: Reply) -> Reply:
        """Return the reply, and send this and later ones with such pauses."""
        self.pause = pause
        return reply

    def _converse(self, lines: Any) -> None:
        lines.connection = _Tap(lines.connection, self)
        super()._converse(lines)

    def _take(self, lines: Any) -> bool:
        if not self.deaf:
            return super()._take(lines)
        self._over.wait(20)
        return False


class _Tap:
    def __init__(self, connection: socket.socket, server: OddServer) -> None:
        self._connection, self._server = connection, server
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def recv(self, size: int) -> bytes:
        chunk = self._connection.recv(size)
        self._server.chunks.append(chunk)
        return chunk

    def sendall(self, octets: bytes) -> None:
        if self._server.pause < 0:
            self._connection.sendall(octets)
            return
        for octet in octets:
            self._connection.sendall(bytes([octet]))
            time.sleep(self._server.pause)
