import threading
import time
from types import TracebackType
from typing import Self, TextIO

PATIENCE = 2.0
REDRAW = 0.5
LOG_SECONDS = 4.0
BAR = 24


class Progress:
    """Without a total it shows the count and the seconds.

    With `expected`, such as "about ten seconds", it begins with a line, and writes lines to files too.
    """

    def __init__(self, label: str, stream: TextIO, *, total: int | None = None, expected: str = "") -> None:
        self.label, self.stream, self.total, self.expected = label, stream, total, expected
        self.done = 0
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def advance(self, count: int = 1) -> None:
        self.done += count

    def __enter__(self) -> Self:
        if self.expected:
            self.stream.write(f"{self.label} ({self.expected}) …\n")
            self.stream.flush()
        draw = self._draw if self.stream.isatty() else self._log if self.expected else None
        if draw:
            self._thread = threading.Thread(target=draw, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def line(self) -> str:
        seconds = f"{time.monotonic() - self._began:.0f} s"
        if not self.total:
            return f"{self.label} … {self.done or ''} {seconds}".replace("  ", " ")
        part = min(self.done / self.total, 1.0)
        bar = ("█" * round(part * BAR)).ljust(BAR, "░")
        return f"{self.label} {bar} {self.done}/{self.total} {seconds}"

    def _log(self) -> None:
        while not self._over.wait(LOG_SECONDS):
            done = f"{self.done} of {self.total}, " if self.total else ""
            self.stream.write(f"  {done}{time.monotonic() - self._began:.0f} s\n")
            self.stream.flush()

    def _draw(self) -> None:
        wait = PATIENCE
        drawn = False
        while not self._over.wait(wait):
            self.stream.write(f"\r\x1b[K{self.line()}")
            self.stream.flush()
            wait, drawn = REDRAW, True
        if drawn:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
