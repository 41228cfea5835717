"""postfix's smtp-sink, which stores each message as a file with recipient and time."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import services
from tests.load.chaos_verdict import Copy

_RECIPIENT = re.compile(rb"^X-Rcpt-Args: <([^>]+)>", re.M)
# The last boundary of a letter (RFC 2046 §5.1.1) and the empty line with which smtp-sink ends a file.
_END = b"--\n\n"


class Sink:
    """Mail server that can be killed and restarted on the same port.

    It acknowledges a message so many seconds after accepting it, as a real one needs time, too.

    A message counts as accepted once its file is complete, whether or not the response reached the client:
    smtp-sink writes the file first. The file of an interrupted message has no end, and does not count.
    """

    def __init__(self, folder: Path, *, answers_after: int = 0) -> None:
        program = services.program("smtp-sink")
        if program is None:
            raise services.Missing("smtp-sink (Debian: postfix)")
        self.port, self._folder = services.free_port(), folder
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        slowly = ["-W", f".:{answers_after}"] if answers_after else []
        self._command = [program, *user, *slowly, "-d", f"{folder}/m.", f"127.0.0.1:{self.port}", "1000"]
        self._process: subprocess.Popen[bytes] | None = None
        self._copies: dict[str, Copy] = {}

    def start(self) -> None:
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdout=quiet, stderr=quiet, cwd="/")
        services.wait_until(self._connect, "smtp-sink")

    def _connect(self) -> None:
        socket.create_connection(("127.0.0.1", self.port), timeout=1).close()

    def kill(self) -> None:
        """Kill it as by a power cut; accepted messages are kept."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(10)
            self._process = None

    def copies(self) -> list[Copy]:
        """Return every message accepted so far."""
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name not in self._copies and (copy := _read(Path(entry.path))):
                    self._copies[entry.name] = copy
        return list(self._copies.values())


def _read(path: Path) -> Copy | None:
    """Return the message of a file; None while it is incomplete."""
    try:
        content, at = path.read_bytes(), path.stat().st_mtime
    except FileNotFoundError:  # deleted: the client disconnected before the end
        return None
    found = _RECIPIENT.findall(content)
    if not content.endswith(_END):
        return None
    assert len(found) == 1, f"{len(found)} recipients in one message"
    return Copy(found[0].decode(), at)


@contextmanager
def running_sink(*, answers_after: int = 0) -> Iterator[Sink]:
    """Run a sink; kill it and delete its files afterwards. Raises Missing."""
    folder = Path(tempfile.mkdtemp(prefix="feedletter-sink-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
    try:
        sink = Sink(folder, answers_after=answers_after)
        try:
            sink.start()
            yield sink
        finally:
            sink.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
