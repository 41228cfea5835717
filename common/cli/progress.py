import threading
import time
from types import TracebackType
from typing import Self, TextIO

PATIENCE = 2.0
REDRAW = 0.5
BAR = 24


class Progress:
    """Without a total it shows the count and the seconds."""

    def __init__(self, label: str, stream: TextIO, *, total: int | None = None) -> None:
        self.label, self.stream, self.total = label, stream, total
        self.done = 0
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def advance(self, count: int = 1) -> None:
        self.done += count

    def __enter__(self) -> Self:
        if self.stream.isatty():
            self._thread = threading.Thread(target=self._draw, daemon=True)
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
