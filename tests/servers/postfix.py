"""Postfix with a temporary configuration that pipes one domain's mail to a command."""

import os
import pwd
import shutil
import smtplib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.services import Missing, free_port, program

# The user of the pipe; Postfix refuses root and its own user.
USER = "nobody"
DAEMONS = ("/usr/lib/postfix/sbin", "/usr/libexec/postfix", "/usr/lib/postfix")
SERVICES = """\
127.0.0.1:{port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 1 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
verify unix - - n - 1 verify
smtp unix - - n - - smtp
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
feedletter unix - n n - 2 pipe
  flags=DR user={user} argv={script} ${{recipient}}
"""


class Postfix:
    """Running Postfix. `deliver` sends it a mail by SMTP; `log` is its log."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    @property
    def log(self) -> str:
        path = self.folder / "log" / "mail.log"
        return path.read_text() if path.exists() else ""

    def deliver(self, raw: bytes, recipient: str, sender: str = "") -> None:
        with smtplib.SMTP("127.0.0.1", self.port, timeout=10) as client:
            client.sendmail(sender, [recipient], raw)

    def waits_for(self, words: str, *, count: int = 1, seconds: float = 30) -> None:
        """Wait until the log contains the words `count` times. Raises AssertionError with the log."""
        until = time.monotonic() + seconds
        while self.log.count(words) < count:
            assert time.monotonic() < until, f"Postfix did not say “{words}” {count} times:\n{self.log}"
            time.sleep(0.1)


def interpreter() -> str:
    """Return a Python of our version that USER can run. Raises Missing."""
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, shutil.which(minor, path="/usr/bin:/usr/local/bin") or ""):
        if path and _runs(path):
            return path
    raise Missing(f"{minor} where the user {USER} can run it")


def site_packages() -> str:
    return next(path for path in sys.path if path.endswith("site-packages"))


@contextmanager
def postfix(
    folder: Path,
    *,
    domain: str,
    command: str,
    environment: Mapping[str, str],
    main: Mapping[str, str] | None = None,
) -> Iterator[Postfix]:
    """Run a Postfix that pipes each mail for the domain into `command RECIPIENT`.

    `main` adds or overrides settings of main.cf. Raises Missing.
    """
    daemons = next((path for path in DAEMONS if (Path(path) / "master").exists()), None)
    if not program("postfix") or daemons is None:
        raise Missing("Postfix (Debian: postfix)")
    if os.geteuid() != 0:
        raise Missing("root, which Postfix's master has to be")
    port = free_port()
    _write(folder, port, domain, command, environment, daemons, main or {})
    _control(folder, "start")
    try:
        server = Postfix(folder, port)
        _wait(port, server)
        yield server
    finally:
        _control(folder, "stop")


def _write(
    folder: Path,
    port: int,
    domain: str,
    command: str,
    environment: Mapping[str, str],
    daemons: str,
    more: Mapping[str, str],
) -> None:
    script, owner = folder / "handle-bounce", pwd.getpwnam("postfix")
    for name in ("etc", "spool", "data", "log"):
        (folder / name).mkdir(parents=True)
    os.chown(folder / "data", owner.pw_uid, owner.pw_gid)
    exports = "".join(f"export {name}='{value}'\n" for name, value in environment.items())
    script.write_text(f'#!/bin/sh\n{exports}{command} "$1" || exit 75\n')
    script.chmod(0o755)
    main: dict[str, object] = {
        "compatibility_level": "3.6",
        "config_directory": folder / "etc",
        "queue_directory": folder / "spool",
        "data_directory": folder / "data",
        "daemon_directory": daemons,
        "maillog_file": folder / "log" / "mail.log",
        "maillog_file_prefixes": folder / "log",
        "myhostname": "mail.example",
        "inet_interfaces": "127.0.0.1",
        "inet_protocols": "ipv4",
        "mynetworks": "127.0.0.0/8",
        "mydestination": "",
        "alias_maps": "",
        "relay_domains": domain,
        "transport_maps": f"inline:{{{domain}=feedletter:}}",
        "feedletter_destination_recipient_limit": "1",
        "minimal_backoff_time": "5s",
        "queue_run_delay": "5s",
        "export_environment": "TZ LANG",
        **more,
    }
    (folder / "etc" / "main.cf").write_text("".join(f"{name} = {value}\n" for name, value in main.items()))
    services = SERVICES.format(port=port, user=USER, script=script)
    (folder / "etc" / "master.cf").write_text(services)


def _control(folder: Path, word: str) -> None:
    command = ["postfix", "-c", str(folder / "etc"), word]
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={"PATH": path}
    )
    if word == "start":
        assert done.returncode == 0, done.stdout + done.stderr


def _wait(port: int, server: Postfix) -> None:
    until = time.monotonic() + 15
    while time.monotonic() < until:
        try:
            with smtplib.SMTP("127.0.0.1", port, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"Postfix does not answer:\n{server.log}")


def _runs(path: str) -> bool:
    user = pwd.getpwnam(USER)
    try:
        done = subprocess.run(
            [path, "-c", "import django"],
            env={"PYTHONPATH": site_packages()},
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            capture_output=True,
            timeout=30,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0
