"""postfix's smtp-sink and its load generator."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests import services

SESSIONS = 10


@contextmanager
def sink() -> Iterator[int]:
    """Yield the port. Raises Missing."""
    port, program = services.free_port(), services.program("smtp-sink")
    if program is None:
        raise services.Missing("smtp-sink (Debian: postfix)")
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    with services.running([program, *user, f"127.0.0.1:{port}", "1000"]):
        services.wait_until(
            lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close(), "smtp-sink"
        )
        yield port


def smtp_source(port: int, *, size: int, count: int) -> float:
    """Return the generator's messages a second, reusing sessions."""
    command = [str(services.program("smtp-source")), "-d", "-s", str(SESSIONS), "-m", str(count)]
    command += ["-l", str(size), f"127.0.0.1:{port}"]
    started = time.perf_counter()
    subprocess.run(command, check=True, timeout=120, cwd="/")
    return count / (time.perf_counter() - started)
