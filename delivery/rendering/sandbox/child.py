"""Child process of the sandbox; ends when its connection closes.

It has no settings of ours, so no secrets and no database. Jobs are pickled by our own process; answers are
JSON, since a template's output must not be unpickled.
"""

import json
import pickle
import resource
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.utils import timezone, translation

from common.child_process import framed, messages, set_limits

CPU_SECONDS = 2.0
MEMORY = 256 * 1024 * 1024
# The system kills the process then: one long step may never return to Python.
HARD_SECONDS = 3
# A new process frees fragmented or leaked memory.
MOST_JOBS = 500


def serve(line: socket.socket) -> None:
    """Answer jobs until there are no more."""
    for count, job in enumerate(map(pickle.loads, messages(line)), 1):
        if count == 1:
            _prepare(job["settings"])
        if _answer(line, job, last=count == MOST_JOBS):
            return


def _prepare(values: Mapping[str, Any]) -> None:
    settings.configure(USE_TZ=True, USE_I18N=True, INSTALLED_APPS=[], **values)
    django.setup()
    # Before the limits are set; needs no app.
    from delivery.rendering import posts
    from delivery.rendering.sandbox import custom_template

    del posts, custom_template
    set_limits({resource.RLIMIT_AS: MEMORY, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NOFILE: 32})


def _answer(line: socket.socket, job: dict[str, Any], *, last: bool) -> bool:
    """Answer a job and return whether this process must end."""
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
        # In bytes. ru_maxrss would start with the parent's.
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        ends = ends or int(pages) * resource.getpagesize() > MEMORY // 2
    octets = json.dumps({**answer, "ends": ends}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    line.sendall(framed(octets))
    return ends


def _done(job: dict[str, Any]) -> dict[str, Any]:
    """Do the job. Its data are freed on return, before memory is measured."""
    from delivery.rendering.sandbox import custom_template

    body = pickle.loads(job["body"])  # noqa: S301 - from our own parent
    if body["do"] == "check":
        custom_template.check_source_fields(job["path"], body["own"], body["fields"])
        return {}
    drawn = custom_template.draw(job["path"], body["own"], body["context"], body["placeholders"])
    used = sorted(body["placeholders"].used)
    return {"subject": drawn.subject, "html": drawn.html, "text": drawn.text, "used": used}


class _Limit:
    """Interrupts the work after CPU_SECONDS of processor time."""

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
