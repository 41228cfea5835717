"""Processes of the program that are forked from one that has imported its libraries.

`Process` is `subprocess.Popen`, and `run` is `subprocess.run`. Importing Django, Celery and other libraries
is two thirds of a start, which tests would repeat thousands of times. All of ours but what is pure, settings
included, is imported after the fork, by the process itself. Another program, folder or Python starts afresh.
"""

import atexit
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

ROOT = Path(__file__).resolve().parents[1]
# Where tests/run.py has put the socket of the server for all processes of pytest.
SERVER = "TEST_FORK_SERVER"
# A process reads these before the first line of Python: with others than ours it starts afresh.
EARLY = ("PYTHON", "LD_", "MALLOC_")
# Except these, which a fork can follow.
FOLLOWED = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
# Imports of a process of the program: commands, pages and tasks.
LEARNT = """
import django; django.setup()
import celery.apps.worker, celery.bin.worker, celery.concurrency.thread, gunicorn.app.wsgiapp
import django.core.management.commands.migrate, feedletter_site.urls
"""
# Packages of ours that neither read settings nor use Django: they are a third of what a fork would import.
PURE = {"parsing", "rules"}


class Process(subprocess.Popen[Any]):
    """A child process. `python manage.py …`, `-m …` and `-c …` in the checkout are forked by the server."""

    _forked: socket.socket | None = None

    def _execute_child(self, args: Any, *more: Any) -> None:
        # As CPython 3.11 to 3.14 call it.
        (executable, preexec_fn, _, pass_fds, cwd, env, _, _, shell, *pipes) = more[:15]
        new_session = more[-2]
        own = any((executable, preexec_fn, pass_fds, shell))
        words = [args] if isinstance(args, str) else [os.fspath(each) for each in args]
        environment = dict(os.environ if env is None else env)
        if own or not can_fork(words, os.fspath(cwd or "."), environment):
            super()._execute_child(args, *more)  # type: ignore[misc]
            return
        p2cread, _, _, c2pwrite, _, errwrite = pipes
        wanted = {"words": words[1:], "environment": environment, "new_session": bool(new_session)}
        ours = [usual if end == -1 else end for usual, end in enumerate((p2cread, c2pwrite, errwrite))]
        self._forked = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._forked.connect(server_address())
        message = json.dumps(wanted).encode()
        socket.send_fds(self._forked, [len(message).to_bytes(4, "big")], ours)
        self._forked.sendall(message)
        self.pid = int.from_bytes(received(self._forked, 4), "big")
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if self._forked is None:
            return super()._try_wait(flags)  # type: ignore[misc,no-any-return]
        self._forked.setblocking(not flags & os.WNOHANG)
        try:
            status = received(self._forked, 4)
        except BlockingIOError:
            return 0, 0
        self._forked.close()
        return self.pid, int.from_bytes(status, "big")

    def _internal_poll(self, *more: Any, **named: Any) -> int | None:
        if self._forked is None:
            return super()._internal_poll(*more, **named)  # type: ignore[misc,no-any-return]
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode


def run(
    command: list[Any], *, timeout: float = 600, check: bool = False, **options: Any
) -> "subprocess.CompletedProcess[Any]":
    """Run a command as `subprocess.run` does."""
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    given = options.pop("input", None)
    if given is not None:
        options["stdin"] = subprocess.PIPE
    with Process(command, **options) as process:
        try:
            out, err = process.communicate(given, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def can_fork(words: list[str], folder: str, environment: dict[str, str]) -> bool:
    """Return whether a fork is as good as a start."""
    starts = words[1:2] == ["manage.py"] or (words[1:2] in (["-c"], ["-m"]) and len(words) > 2)
    ours, theirs = early(os.environ), early(environment)
    return starts and words[0] == sys.executable and Path(folder).resolve() == ROOT and ours == theirs


def early(environment: Any) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(EARLY) and name not in FOLLOWED
    }


@cache
def server_address() -> str:
    """Return the server's socket; start it for this process of pytest if tests/run.py did not."""
    return os.environ.get(SERVER) or start_server()


def start_server() -> str:
    """Start a server that ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="feedletter-forks-")
    address = f"{folder.name}/server"
    # Without a process of its own behind stdin, the server ends.
    server = subprocess.Popen([sys.executable, "-m", "tests.forks", address], cwd=ROOT, stdin=subprocess.PIPE)
    atexit.register(folder.cleanup)
    atexit.register(server.communicate)
    while not os.path.exists(address):
        assert server.poll() is None, "the server for forks ended"
        time.sleep(0.02)
    return address


def received(link: socket.socket, count: int) -> bytes:
    """Return so many octets. Raises EOFError if the other side ended first."""
    octets = b""
    while len(octets) < count:
        more = link.recv(count - len(octets))
        if not more:
            raise EOFError("the server for forks ended")
        octets += more
    return octets


def serve(address: str) -> dict[str, Any]:
    """Fork a process for each connection. Returns in each of them, with what it shall run."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"{address}.new")
    listener.listen(64)
    os.rename(f"{address}.new", address)
    woken, waker = socket.socketpair()
    for end in (woken, waker):
        end.setblocking(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno())
    running: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        for source in (listener, woken, 0):
            selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == 0:
                    sys.exit()
                if key.fileobj is woken:
                    with suppress(BlockingIOError):
                        woken.recv(4096)
                    report_ends(running)
                    continue
                link, _ = listener.accept()
                size, ends, _, _ = socket.recv_fds(link, 4, 3)
                wanted = json.loads(received(link, int.from_bytes(size, "big")))
                pid = os.fork()
                if not pid:
                    become(wanted, ends)
                    return dict(wanted)
                for number in ends:
                    os.close(number)
                running[pid] = link
                link.sendall(pid.to_bytes(4, "big"))


def report_ends(running: dict[int, socket.socket]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with suppress(KeyError, OSError), running.pop(ended[0]) as link:
                link.sendall(ended[1].to_bytes(4, "big"))


def become(wanted: dict[str, Any], ends: list[int]) -> None:
    """Make this fork the process that is wanted: its files, environment and signals."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if wanted["new_session"]:
        os.setsid()
    for number, end in enumerate(ends):
        os.dup2(end, number)
    os.closerange(3, 1024)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(line_buffering=name == "stderr", write_through=unbuffered)


def be(words: list[str]) -> None:
    """Run what follows `python` on the command line."""
    how, *rest = words
    sys.orig_argv = [sys.executable, *words]
    if how == "manage.py":
        sys.argv, sys.path[0] = words, str(ROOT)
        runpy.run_path(how, run_name="__main__")
    elif how == "-m":
        sys.argv, sys.path[0] = rest, str(ROOT)
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(main))  # noqa: S102 - as `python -c` does


def import_libraries() -> None:
    """Import what the program imports of others. Ours reads settings and the environment: later."""
    ours = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "DATA_DIR": folder,
            "SECRET_KEY": "k" * 50,
            "DJANGO_SETTINGS_MODULE": "feedletter_site.settings",
        }
        names = "\nimport sys; print('\\n'.join(sys.modules))"
        command = [sys.executable, "-c", LEARNT + names]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    # Without it nothing can read settings, which are each process's own.
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)
    for name in done.stdout.split():
        package, *parts = name.split(".")
        if package not in ours | {"__main__"} or PURE & set(parts):
            # Some want settings, or apps that are ready.
            with suppress(Exception):
                importlib.import_module(name)
    assert "feedletter_site" not in sys.modules
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    place = sys.argv[1]
    import_libraries()
    # django-celery-beat makes a list of all.
    zones = [ZoneInfo(name) for name in available_timezones()]
    be(serve(place)["words"])
