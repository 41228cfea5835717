"""Supervisor that restarts dead processes with back-off and stops them all.

Uses only the standard library: `manage.py up` execs it, to free the memory that migrating needed. Its
argument is a ProcessPlan as JSON.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

LONGEST_PAUSE = 30.0
# After this, the next restart has the shortest pause again.
HEALTHY_SECONDS = 60.0
CHILD_LOOK_SECONDS = 0.2
TOUCH_SECONDS = 5.0
WAIT_SECONDS = 4.0
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


@dataclass(frozen=True)
class ProcessPlan:
    """`alive` is touched while all run. `grace` is the seconds between TERM and KILL.

    `site` is where the web process listens: the first answer from there is announced.
    """

    commands: dict[str, list[str]]
    folder: str
    alive: str
    grace: float = 30.0
    json_logs: bool = False
    site: str = ""


@dataclass
class Child:
    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    deaths: int = 0
    started: float = 0.0
    start_at: float = 0.0

    def start(self, folder: str, now: float) -> None:
        # Own session: Ctrl-C reaches only us, and we send TERM once.
        self.process = subprocess.Popen(  # noqa: S603 - the commands are ours
            self.command, cwd=folder, start_new_session=True, preexec_fn=die_with_parent
        )
        self.started = now

    def died(self, now: float) -> float:
        """Return the seconds before the next start."""
        self.process = None
        self.deaths = 1 if now - self.started >= HEALTHY_SECONDS else self.deaths + 1
        pause = min(2.0 ** (self.deaths - 1), LONGEST_PAUSE)
        self.start_at = now + pause
        return pause


def ending(status: int) -> str:
    if status == -signal.SIGKILL:
        return "was killed (SIGKILL), probably because the machine or its container ran out of memory"
    if status < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
        return f"was ended by signal {-status}"
    return f"ended with status {status}"


def answers(site: str) -> bool:
    """Return whether the web process answers a request within CHILD_LOOK_SECONDS."""
    host, _, port = site.rpartition(":")
    host = {"0.0.0.0": "127.0.0.1", "[::]": "::1"}.get(host, host.strip("[]"))  # noqa: S104 - compared with
    try:
        with socket.create_connection((host, int(port)), CHILD_LOOK_SECONDS) as connection:
            connection.sendall(b"HEAD /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            return bool(connection.recv(1))
    except OSError:
        return False


def die_with_parent() -> None:
    """Otherwise, if the supervisor is killed (Linux), children would keep the port."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGTERM)


class Supervisor:
    """Runs until TERM or INT; a second one kills at once."""

    def __init__(self, plan: ProcessPlan) -> None:
        self.plan = plan
        self.children = [Child(name, command) for name, command in plan.commands.items()]
        self.signals = 0
        self.touched = 0.0
        self.started = self.said = time.monotonic()
        self.is_ready = not plan.site

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)
        if not self.is_ready:
            self.say(f"Starting {', '.join(self.plan.commands)} (about ten seconds) …")
        while not self.signals:
            self.look(time.monotonic())
            if not self.is_ready:
                self.announce(time.monotonic())
            time.sleep(CHILD_LOOK_SECONDS)
        self.stop()
        return 0

    def on_signal(self, *_: object) -> None:
        self.signals += 1

    def look(self, now: float) -> None:
        for child in self.children:
            if child.process is None:
                if now >= child.start_at:
                    child.start(self.plan.folder, now)
            elif (status := child.process.poll()) is not None:
                pause = child.died(now)
                self.say(f"{child.name} {ending(status)}; restarting in {pause:.0f} s.")
        if now - self.touched >= TOUCH_SECONDS and all(child.process for child in self.children):
            Path(self.plan.alive).touch()
            self.touched = now

    def announce(self, now: float) -> None:
        self.is_ready = answers(self.plan.site)
        if self.is_ready:
            self.say("Ready. Stop with Ctrl-C.")
        elif now - self.said >= WAIT_SECONDS:
            self.said = now
            self.say(f"Still starting, after {now - self.started:.0f} s …")

    def stop(self) -> None:
        self.say("Stopping. Emails being handed over are finished first.")
        for child in self.running():
            child.send_signal(signal.SIGTERM)
        end = time.monotonic() + self.plan.grace
        while self.running() and time.monotonic() < end and self.signals < 2:
            time.sleep(CHILD_LOOK_SECONDS / 4)
        for child in self.running():
            child.kill()
            child.wait()
        Path(self.plan.alive).unlink(missing_ok=True)
        self.say("Stopped.")

    def running(self) -> list[subprocess.Popen[bytes]]:
        return [child.process for child in self.children if child.process and child.process.poll() is None]

    def say(self, message: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = {"time": now, "level": "info", "logger": "supervisor", "message": message}
        line = json.dumps(entry) if self.plan.json_logs else f"{now} supervisor: {message}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - there is no logging without settings


def command(plan: ProcessPlan) -> list[str]:
    """Isolated (-I): only the standard library is needed."""
    return [sys.executable, "-I", __file__, json.dumps(asdict(plan))]


def become(plan: ProcessPlan) -> None:
    sys.stdout.flush()
    # glibc's memory for each thread would stay with it: 6 MB at rest.
    os.environ.setdefault("MALLOC_ARENA_MAX", "1")
    os.execv(sys.executable, command(plan))  # noqa: S606 - our own interpreter and our own file


if __name__ == "__main__":
    sys.exit(Supervisor(ProcessPlan(**json.loads(sys.argv[1]))).run())
