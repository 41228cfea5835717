"""Wrong wall clock for the processes of an installation, off by the content of a file.

Copied as `sitecustomize.py` into a folder on PYTHONPATH (`install`), it shifts `time.time` and `datetime.now`
of every Python process started with it, as soon as the file changes. The monotonic clocks are unchanged.
(libfaketime 0.9.10 cannot do that: with those clocks unchanged `time.sleep` fails.)
"""

import copyreg
import datetime
import os
import shutil
import sys
import time
from datetime import datetime as _real_datetime
from pathlib import Path
from typing import Any

FILE = "SHIFTED_CLOCK"
LOOK_EVERY = 0.2

_real_time = time.time
_read: list[float] = [float("-inf"), 0.0]


def install(folder: Path, process: str) -> dict[str, str]:
    """Return the environment for processes whose clock `shift` moves."""
    place = folder / "shifted"
    place.mkdir(exist_ok=True)
    shutil.copy(__file__, place / "sitecustomize.py")
    shift(folder, process, 0)
    return {"PYTHONPATH": str(place), FILE: str(folder / f"clock-{process}")}


def shift(folder: Path, process: str, seconds: float) -> None:
    path = folder / f"clock-{process}"
    fresh = path.with_suffix(".new")
    fresh.write_text(str(seconds), encoding="ascii")
    fresh.replace(path)


def _offset() -> float:
    now = time.monotonic()
    if now - _read[0] >= LOOK_EVERY:
        _read[:] = [now, float(Path(os.environ[FILE]).read_text(encoding="ascii"))]
    return _read[1]


class _Meta(type):
    """Every real datetime is also an instance of ours: C code makes real ones."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _real_datetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _real_datetime)


class _Datetime(_real_datetime, metaclass=_Meta):
    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Make real ones only: psycopg gives its adapter to the first class of the name that it meets."""
        return _real_datetime(*args, **options)  # noqa: DTZ001 - the caller gives one

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _real_datetime.now(tz) + datetime.timedelta(seconds=_offset())

    @classmethod
    def utcnow(cls) -> Any:
        return _real_datetime.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(seconds=_offset())


def _move() -> None:
    # pickle finds our class by its name, and other processes the real one.
    copyreg.pickle(_real_datetime, lambda moment: (_Datetime.fromisoformat, (moment.isoformat(),)))
    _Datetime.__name__ = _Datetime.__qualname__ = "datetime"
    _Datetime.__module__ = "datetime"
    datetime.datetime = _Datetime  # type: ignore[misc]
    time.time = lambda: _real_time() + _offset()
    time.time_ns = lambda: int((_real_time() + _offset()) * 1e9)


if __name__ == "sitecustomize" and FILE in os.environ and sys.flags.isolated == 0:
    _move()
