"""The Dockerfile, built and run by bubblewrap, because test machines have no container engine.

Needs root. Of the base image there is Python alone; /usr and a copy of /etc are this machine's.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tests.e2e.processes import ROOT
from tests.services import Missing, program

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
IGNORED = [
    line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line[0] not in "#!"
]
BIN = "python/bin"
# pip's index and certificates are this machine's.
PASSED_ON = ("PIP_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


@dataclass
class Stage:
    """File system, and how processes run in it."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": f"/{BIN}:/usr/bin:/bin:/usr/sbin"})
    folder: str = "/"
    user: int = 0
    volumes: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    def path(self, inside: str) -> Path:
        return self.root / os.path.join(self.folder, inside).lstrip("/")

    def sandbox(self, *mounts: str, environment: Mapping[str, str]) -> list[str]:
        words = [str(program("bwrap")), "--unshare-pid", "--as-pid-1", "--die-with-parent"]
        words += ["--cap-add", "ALL", *mounts, "--perms", "1777", "--tmpfs", "/tmp"]  # noqa: S108 - in the sandbox
        words += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
        if not base_python().is_relative_to("/usr"):
            words += ["--ro-bind", str(base_python()), str(base_python())]
        words += ["--chdir", self.folder, "--clearenv"]
        for name, value in {**self.environment, **environment}.items():
            words += ["--setenv", name, value]
        return words

    def container(self, command: Sequence[str], environment: Mapping[str, str], data: Path) -> list[str]:
        """Return the command that runs in a container of which only /tmp and the volume can be written to."""
        (volume,) = self.volumes
        if not data.exists():
            shutil.copytree(self.path(volume), data)
            for path in (data, *data.rglob("*")):
                os.chown(path, self.user, self.user)
        mounts = ["--ro-bind", str(self.root), "/", "--bind", str(data), volume]
        drop = ["--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", *drop]
        return [*self.sandbox(*mounts, environment=environment), *user, *command]

    def run(self, command: Sequence[str], environment: Mapping[str, str], data: Path) -> str:
        """Return the output of a command that must succeed."""
        command = self.container(command, environment, data)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def running(
        self, command: Sequence[str], environment: Mapping[str, str], data: Path, log: Path
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a container during the block, and stop it as Docker does. It must end by itself."""
        with log.open("wb") as output:
            command = self.container(command, environment, data)
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            try:
                yield process
                children = subprocess.check_output(["ps", "-o", "pid=", "--ppid", str(process.pid)])
                os.kill(int(children), signal.SIGTERM)
                assert process.wait(40) == 0, "It ended with an error."
            except BaseException as error:
                error.add_note(f"--- {log.name}:\n{log.read_text(errors='replace')[-3000:]}")
                raise
            finally:
                process.kill()
                process.wait()


def build(folder: Path) -> Stage:
    """Carry out the instructions, and return the last stage. Raises Missing."""
    if program("bwrap") is None or os.geteuid() != 0:
        raise Missing("bubblewrap (Debian: bubblewrap) and root")
    origins = {"": Path(shutil.copytree(ROOT, folder / "context", symlinks=True, ignore=left_out))}
    for name, rest in instructions(DOCKERFILE):
        if name == "FROM":
            stage = Stage(base_image(folder / f"stage{len(origins)}"))
            origins[rest.partition(" AS ")[2] or "last"] = stage.root
        elif name == "RUN":
            carry_out(stage, rest)
        elif name == "COPY":
            copy(rest, origins, stage)
        elif name == "WORKDIR":
            stage.folder = rest
            stage.path("").mkdir(parents=True, exist_ok=True)
        elif name == "ENV":
            for pair in rest.split():
                variable, _, value = pair.partition("=")
                stage.environment[variable] = value.replace("$PATH", stage.environment["PATH"])
        elif name == "USER":
            stage.user = int(rest)
        elif name == "VOLUME":
            stage.volumes.append(rest)
        elif name == "CMD":
            stage.command = json.loads(rest)
        elif name == "HEALTHCHECK":
            stage.health = json.loads(rest.partition("CMD")[2])
        else:
            assert name == "EXPOSE", f"{name} can't be carried out here."
    return stage


def left_out(folder: str, names: list[str]) -> list[str]:
    """Return the names in that folder that .dockerignore has, relative to the first folder."""
    patterns = [each.removeprefix("**/") for each in IGNORED if folder == str(ROOT) or each.startswith("**/")]
    return [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names of a Dockerfile's instructions and their arguments."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(None, text.splitlines()):
        name, _, rest = line.partition(" ")
        yield name, rest.strip()


@cache
def base_python() -> Path:
    """Return where the base image's Python is installed here, or else another one."""
    (version,) = set(re.findall(r"^FROM python:(\d+\.\d+)", DOCKERFILE, re.MULTILINE))
    for path in (shutil.which(f"python{version}"), sys.executable):
        command = [str(path), "-c", "import sys; print(sys.base_prefix)"]
        done = subprocess.run(command, capture_output=True, text=True, check=False) if path else None
        if done and done.returncode == 0:
            return Path(done.stdout.strip()).resolve()
    raise Missing("Python")


def base_image(root: Path) -> Path:
    base = base_python()
    for name in ("usr", "proc", "dev", "tmp", "var", BIN, str(base).lstrip("/")):
        (root / name).mkdir(parents=True, exist_ok=True)
    shutil.copytree("/etc", root / "etc", symlinks=True)
    for path in Path("/").iterdir():
        if path.is_symlink():
            (root / path.name).symlink_to(path.readlink())
    (root / BIN / "python").symlink_to(base / "bin" / "python3")
    return root


def carry_out(stage: Stage, line: str) -> None:
    """RUN, as root, who can write anywhere but in /usr."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    sandbox = stage.sandbox("--bind", str(stage.root), "/", environment=passed)
    done = subprocess.run(
        [*sandbox, "sh", "-c", line], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"RUN {line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def copy(words: str, origins: Mapping[str, Path], stage: Stage) -> None:
    """COPY a file, or the contents of a folder."""
    match = re.fullmatch(r"(?:--from=(\w+) )?(\S+) (\S+)", words)
    assert match, f"COPY {words} can't be carried out here."
    source, target = origins[match[1] or ""] / match[2].lstrip("/"), stage.path(match[3])
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)
