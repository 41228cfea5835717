"""The child's side of the sandbox: reads jobs from its line, renders, answers; ends when the line does.

It is started without our settings, so that it knows no secret and no database. Jobs come pickled from our
own process; answers go back as JSON: what a template made is never unpickled.
"""

import json
import pickle
import resource
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import django
from django.conf import settings
from django.utils import timezone, translation

from common.child_process import framed, messages, set_limits

CPU_SECONDS = 2.0
MEMORY = 256 * 1024 * 1024
# The system ends the process after so many: a single long step may never come back to Python.
HARD_SECONDS = 3
# A fresh process now and then gives back memory that was fragmented or kept.
MOST_JOBS = 500


def serve(line: socket.socket) -> None:
    """Answers jobs until there are no more."""
    for count, job in enumerate(map(pickle.loads, messages(line)), 1):
        if count == 1:
            _prepare(job["settings"])
        if _answer(line, job, last=count == MOST_JOBS):
            return


def _prepare(values: Mapping[str, Any]) -> None:
    settings.configure(USE_TZ=True, USE_I18N=True, INSTALLED_APPS=[], **values)
    django.setup()
    # Loaded before the limits are set, and none of it needs an app.
    from delivery.rendering import posts
    from delivery.rendering.sandbox import custom_template

    del posts, custom_template
    set_limits({resource.RLIMIT_AS: MEMORY, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NOFILE: 32})


def _answer(line: socket.socket, job: dict[str, Any], *, last: bool) -> bool:
    """Answers one job. Returns whether this process has to end after it."""
    from delivery.rendering.errors import BrokenTemplate, TooLong, broken

    for name, value in job["settings"].items():
        setattr(settings, name, value)
    limited = _Limit(TooLong)
    ends = last
    try:
        with limited, translation.override(job["language"]), timezone.override(job["zone"]):
            answer = _done(job)
    except BaseException as error:  # noqa: BLE001 - whatever it was, the template is to blame
        wrong = broken(error, job["path"], "")
        ends = ends or limited.reached or not isinstance(error, BrokenTemplate)
        answer = {
            "wrong": {"name": wrong.name, "reason": wrong.reason, "part": wrong.part, "line": wrong.line}
        }
    with suppress(OSError):
        # Octets in memory. Not ru_maxrss, which begins with what the parent had.
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        ends = ends or int(pages) * resource.getpagesize() > MEMORY // 2
    octets = json.dumps({**answer, "ends": ends}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    line.sendall(framed(octets))
    return ends


def _done(job: dict[str, Any]) -> dict[str, Any]:
    """What the job asks for. Its data are freed when this returns, before memory is measured."""
    from delivery.rendering.sandbox import custom_template

    body = pickle.loads(job["body"])  # noqa: S301 - from our own parent
    if body["do"] == "check":
        custom_template.check_source_fields(job["path"], body["own"], body["fields"])
        return {}
    drawn = custom_template.draw(job["path"], body["own"], body["context"], body["placeholders"])
    used = sorted(body["placeholders"].used)
    return {"subject": drawn.subject, "html": drawn.html, "text": drawn.text, "used": used}


def frozen(values: dict[str, str]) -> Mapping[str, str]:
    """What the parent's frozen mappings become again here."""
    return MappingProxyType(values)


class _Limit:
    """Raises in the middle of whatever is being done when SECONDS of processor time are over."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error, self.reached, self.armed = error, False, False

    def __enter__(self) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        hard = int(used.ru_utime + used.ru_stime) + HARD_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (hard, resource.RLIM_INFINITY))
        self.armed = True
        signal.signal(signal.SIGPROF, self._over)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS, 0.2)

    def __exit__(self, *_: object) -> None:
        self.armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _over(self, *_: object) -> None:
        if self.armed:
            self.reached = True
            raise self.error
