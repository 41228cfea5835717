"""TCP proxy on loopback that can freeze: it accepts connections but forwards nothing.

with FrozenProxy("127.0.0.1", port) as proxy:
proxy.freeze()      # existing connections hear nothing any more, for ever
proxy.heal()        # new connections reach the server
"""

import select
import socket
import threading
from types import TracebackType

CHUNK = 65_536
LOOK_EVERY = 0.1


class FrozenProxy:
    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._is_frozen = self._is_closed = False
        self._generation = 0
        self._kept: list[socket.socket] = []
        self._lock = threading.Lock()

    def __enter__(self) -> "FrozenProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        self._generation += 1
        # Closing the listener alone would leave its thread waiting for ever.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for one in self._kept:
                one.close()

    def freeze(self) -> None:
        self._is_frozen = True
        self._generation += 1

    def heal(self, host: str = "", port: int = 0) -> None:
        """Forward new connections again, to another server if given (a failover)."""
        self.target = (host or self.target[0], port or self.target[1])
        self._is_frozen = False

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._kept.append(client)
            if not self._is_frozen:
                threading.Thread(target=self._forward, args=(client, self._generation), daemon=True).start()

    def _forward(self, client: socket.socket, generation: int) -> None:
        """Forward until one side closes. A frozen connection stays frozen."""
        try:
            server = socket.create_connection(self.target, timeout=5)
        except OSError:
            client.close()
            return
        with self._lock:
            self._kept.append(server)
        other = {client: server, server: client}
        try:
            while generation == self._generation:
                for one in select.select([client, server], [], [], LOOK_EVERY)[0]:
                    octets = one.recv(CHUNK)
                    if generation != self._generation:
                        return
                    if not octets:
                        raise ConnectionError
                    other[one].sendall(octets)
        except (OSError, ValueError):
            client.close()
            server.close()
