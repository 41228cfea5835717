"""Renders custom templates in a child process with 2 seconds of processor time and 256 MB.

Each process keeps one child while there is work: a rendering takes milliseconds. A child that exceeds its
limits is replaced.
"""

import atexit
import io
import json
import os
import pickle
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django.apps import apps
from django.conf import settings
from django.utils import timezone, translation

from channels.letter import LetterError
from channels.placeholders import Placeholders
from common.child_process import Child
from delivery.rendering.errors import BrokenTemplate, RenderedParts
from delivery.rendering.facts import TemplateSource, frozen

# Wall-clock time. The child's limit is processor time and shorter; machines may be busy.
PATIENCE_SECONDS = 20.0
IDLE_SECONDS = 60.0
MOST_ANSWER = 64_000_000


def render_custom(
    path: str, own: TemplateSource, context: Mapping[str, Any], placeholders: Placeholders
) -> RenderedParts:
    """Render a template. Raises LetterError if it is broken or exceeds its limits."""
    answer = _sandbox.ask(
        path, {"do": "draw", "own": own, "context": dict(context), "placeholders": placeholders}
    )
    for field in answer["used"]:
        placeholders.token(field)
    return RenderedParts(subject=answer["subject"], html=answer["html"], text=answer["text"])


def check_fields(path: str, own: TemplateSource, fields: Mapping[str, str]) -> None:
    """Raise LetterError for fields not in `fields` (lower case → as written)."""
    _sandbox.ask(path, {"do": "check", "own": own, "fields": dict(fields)})


def close() -> None:
    """End the child. The next template starts another."""
    _sandbox.close()


class _Sandbox:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: Child | None = None
        self.idle: threading.Timer | None = None

    def ask(self, path: str, job: dict[str, Any]) -> dict[str, Any]:
        packed = _packed({"path": path, "body": _packed(job), **_surroundings()})
        with self.lock:
            self._rest()
            if self.child is not None and self.child.process.poll() is not None:
                self._end()
            try:
                self.child = self.child or Child("delivery.rendering.sandbox.child")
                octets = next(self.child.ask(packed, seconds=PATIENCE_SECONDS, most=MOST_ANSWER))
            except TimeoutError:
                self._end()
                raise BrokenTemplate(path, "it takes too long") from None
            except (OSError, StopIteration) as error:
                raise _ended(path, self._end(), error) from error
            answer: dict[str, Any] = json.loads(octets.decode("utf-8", "surrogatepass"))
            if answer.pop("ends", False):
                self._end()
            else:
                self.idle = threading.Timer(IDLE_SECONDS, self.close)
                self.idle.daemon = True
                self.idle.start()
        if wrong := answer.get("wrong"):
            raise BrokenTemplate(wrong["name"], wrong["reason"], part=wrong["part"], line=wrong["line"])
        return answer

    def _end(self) -> int:
        child, self.child = self.child, None
        return child.close() if child is not None else 0

    def _rest(self) -> None:
        if self.idle is not None:
            self.idle.cancel()
            self.idle = None

    def close(self) -> None:
        with self.lock:
            self._rest()
            self._end()

    def after_fork(self) -> None:
        """Reset: the lock may be held, and the child is the parent's."""
        child, self.lock, self.child, self.idle = self.child, threading.Lock(), None, None
        if child is not None:
            child.forget()


def _ended(path: str, status: int, error: BaseException) -> LetterError:
    if status == -signal.SIGSEGV:
        return BrokenTemplate(path, "its html is nested too deeply", part="html")
    if status in (-signal.SIGXCPU, -signal.SIGPROF):
        return BrokenTemplate(path, "it takes longer than 2 seconds")
    if status < 0:
        return BrokenTemplate(path, "it needs too much memory")
    return LetterError(f"The sandbox for templates cannot work: {error or 'it ended'} (status {status}).")


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        return (frozen, (dict(obj),)) if isinstance(obj, MappingProxyType) else NotImplemented


def _packed(job: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, protocol=5).dump(job)
    return file.getvalue()


def _surroundings() -> dict[str, Any]:
    """Return the settings, language and time zone that templates depend on."""
    locales = [Path(app.path) / "locale" for app in apps.get_app_configs()] if apps.ready else []
    return {
        "settings": {
            "LETTER_TEMPLATES_DIR": str(settings.LETTER_TEMPLATES_DIR),
            "LANGUAGE_CODE": settings.LANGUAGE_CODE,
            "LANGUAGES": settings.LANGUAGES,
            "FORMAT_MODULE_PATH": settings.FORMAT_MODULE_PATH,
            "LOCALE_PATHS": [
                *map(str, settings.LOCALE_PATHS),
                *(str(each) for each in locales if each.is_dir()),
            ],
        },
        "language": translation.get_language() or settings.LANGUAGE_CODE,
        "zone": timezone.get_current_timezone_name(),
    }


_sandbox = _Sandbox()
atexit.register(close)
os.register_at_fork(after_in_child=_sandbox.after_fork)
