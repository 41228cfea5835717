"""The package that people install: its files, its command, and the first email from it."""

import json
import shutil
import stat
import subprocess
import sys
import sysconfig
import time
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.databases import migrated_file
from tests.e2e.journey import NEW, READER, Blog, arrived
from tests.e2e.processes import ROOT, answers, clean_environment, running, until
from tests.examples import NIGHTLY
from tests.servers.smtp_server import SmtpServer
from tests.services import free_port

pytestmark = pytest.mark.slow

LIMIT_SECONDS = 60
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]


@dataclass
class Venv:
    """Environment in which the wheel is installed. Commands run outside of it and of the checkout."""

    folder: Path
    home: Path

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python3*/site-packages"))

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "feedletter"

    @property
    def command(self) -> str:
        return str(self.folder / "bin" / "feedletter")

    def environment(self, **values: str) -> dict[str, str]:
        return {"HOME": str(self.home), "XDG_DATA_HOME": "", **values}

    def run(self, *arguments: str, timeout: float = 120, **values: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.command, *arguments],
            cwd=self.home,
            env=clean_environment(self.environment(**values)),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def manage(self, *arguments: str, timeout: float = 120, **values: str) -> str:
        done = self.run(*arguments, timeout=timeout, **values)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> set[str]:
        """Return the files of all packages, without compiled ones."""
        return {str(path) for path in self.packages.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def build(source: Path, kind: str, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, capture_output=True, check=True, timeout=120)
    return next(target.iterdir())


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """Environment with the wheel alone. It gets the libraries from the environment of the tests."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    command = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--quiet"]
    subprocess.run([*command, "--python", f"{folder}/bin/python", str(wheel)], check=True, timeout=60)
    venv = Venv(folder, folder)
    (venv.packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    # As other distributions have them.
    for name in ("common", "feeds", "templates"):
        (venv.packages / f"{name}.py").write_text("raise ImportError('This is of another distribution.')")
    return folder


@pytest.fixture
def venv(installed: Path, tmp_path: Path) -> Venv:
    return Venv(installed, tmp_path)


def test_the_wheel_has_all_files_of_the_program_in_one_folder(wheel: Path) -> None:
    product = TOOLS["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert set(TOOLS["importlinter"]["root_packages"]) <= set(product)
    there = {
        f"feedletter/{path.relative_to(ROOT)}"
        for name in product
        for path in (ROOT / name, *(ROOT / name).rglob("*"))
        if path.is_file() and path.suffix not in {".pyc", ".po"}
    }
    names = contents(wheel).keys()
    assert {name for name in names if ".dist-info/" not in name} == there
    assert {"feedletter/locale/de/LC_MESSAGES/django.mo", "feedletter/templates/letters/base.txt"} <= names


@NIGHTLY
def test_the_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(build(ROOT, "sdist", tmp_path / "sdist"), tmp_path / "source")
    source = next((tmp_path / "source").iterdir())
    assert {"README.md", "LICENSE", "manage.py"} <= {each.name for each in source.iterdir()}
    assert contents(build(source, "wheel", tmp_path / "again")) == contents(wheel)


def test_other_programs_in_the_environment_do_not_see_our_packages(venv: Venv) -> None:
    code = "import importlib.util as u; print([n for n in ('delivery', 'demo', 'chat') if u.find_spec(n)])"
    command = [f"{venv.folder}/bin/python", "-c", code]
    environment = clean_environment(venv.environment())
    done = subprocess.run(command, cwd=venv.home, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_says_its_version(venv: Venv) -> None:
    assert venv.manage("--version").startswith("Feedletter 0.")


@NIGHTLY
def test_it_runs_celerys_command_with_our_modules_and_settings(venv: Venv) -> None:
    """feedletter-worker@.service does."""
    said = venv.manage("celery", "--quiet", "-A", "feedletter_site", "report")
    assert "'feeds.poll': {'queue': 'poll'}" in said


def test_data_is_in_the_users_data_directory_and_for_their_eyes_only(venv: Venv) -> None:
    venv.manage("show_settings")
    assert stat.S_IMODE(venv.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((venv.data / "secret_key").stat().st_mode) == 0o600


def test_paths_are_relative_to_where_one_is_or_to_the_data(venv: Venv) -> None:
    code = "from django.conf import settings; print(settings.DATABASES['default']['NAME'])"
    said = venv.manage(
        "shell", "--no-imports", "-c", code, DATA_DIR="mine", DATABASE_URL="sqlite:///other.db"
    )
    assert said.strip() == str(venv.home / "mine" / "other.db")


def test_settings_come_from_a_file_next_to_the_data_unless_they_are_in_the_environment(venv: Venv) -> None:
    folder = venv.home / "data"
    folder.mkdir()
    (folder / ".env").write_text(
        "# Ours\n\nTIME_ZONE = 'Europe/Berlin'\nBIND=127.0.0.1:8123\n"
        "DEFAULT_FROM_EMAIL=Ada <ada@example.org>\n"
    )
    said = venv.manage("show_settings", DATA_DIR=str(folder), BIND="127.0.0.1:8124")
    values = {line.split()[0]: line for line in said.splitlines()}
    assert "Europe/Berlin" in values["TIME_ZONE"]
    assert "127.0.0.1:8124" in values["BIND"]
    assert "Ada <ada@example.org>" in values["DEFAULT_FROM_EMAIL"]
    (folder / ".env").write_text("TIME_ZONE=UTC\nexport\n")
    done = venv.run("show_settings", DATA_DIR=str(folder))
    assert (done.returncode, done.stderr) == (1, f"Line 2 of {folder}/.env is wrong: expected NAME=value.\n")


@NIGHTLY
def test_hooks_may_be_in_a_folder_that_the_file_names(venv: Venv) -> None:
    folder = venv.home / "data"
    (folder / "hooks").mkdir(parents=True)
    (folder / "hooks" / "ours.py").write_text("")
    (folder / ".env").write_text(f"PYTHONPATH={folder}/hooks\nHOOK_MODULES=ours, missing\n")
    said = venv.run("check", DATA_DIR=str(folder)).stderr
    assert "missing" in said
    assert "ours" not in said


def test_a_data_directory_that_cannot_be_is_refused_in_a_sentence(venv: Venv) -> None:
    (venv.home / "file").write_text("")
    done = venv.run("check", DATA_DIR=str(venv.home / "file" / "data"))
    assert done.returncode == 1
    assert done.stderr.startswith("DATA_DIR cannot be used (Not a directory: ")


@NIGHTLY
def test_another_projects_settings_and_modules_do_no_harm(venv: Venv) -> None:
    (venv.home / "delivery.py").write_text("raise ImportError('This is of another project.')")
    said = venv.manage("check", DJANGO_SETTINGS_MODULE="shop.settings", PYTHONPATH=str(venv.home))
    assert "no issues" in said


def test_hints_name_the_command_that_there_is(venv: Venv) -> None:
    with SmtpServer() as taken:
        port = taken.url.rpartition(":")[2].rstrip("/")
        done = venv.run("up", "--bind", f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert " feedletter up" in done.stderr


@NIGHTLY
def test_a_feed_becomes_a_letter_and_nothing_is_written_next_to_the_program(venv: Venv) -> None:
    before = venv.files()
    # At night `up` creates the tables, too.
    venv.data.mkdir(parents=True)
    shutil.copy(migrated_file(), venv.data / "feedletter.db")
    first_letter(venv)
    assert venv.files() == before


def first_letter(venv: Venv) -> None:
    """Run `feedletter up`, and in a second terminal the commands of README."""
    bind = f"127.0.0.1:{free_port()}"
    with SmtpServer() as mail, Blog() as blog:
        venv.data.mkdir(parents=True, exist_ok=True)
        given = f"EMAIL_URL={mail.url}\nALLOW_PRIVATE_NETWORKS=127.0.0.0/8\nBIND={bind}\n"
        (venv.data / ".env").write_text(given)
        environment = venv.environment(POLL_HOST_GAP="0")
        with running("up", [venv.command, "up"], environment, venv.home, folder=venv.home) as process:
            until(lambda: answers(f"http://{bind}/readyz") or process.poll(), "readyz", 600)
            assert f"Data is in {venv.data}." in (venv.home / "up.log").read_text()
            venv.manage("add_feed", blog.feed, "--ping")
            venv.manage("define_subscribable", "starlight", "--feed", "1")
            venv.manage("subscribe", "starlight", "--email", READER)
            blog.publish(NEW)
            venv.manage("poll", "--all")
            arrived(mail, LIMIT_SECONDS)
            alive = str(venv.packages / "feedletter" / "feedletter_site" / "alive.py")
            check = [f"{venv.folder}/bin/python", "-I", alive, "celery", "beat"]
            subprocess.run(check, env=venv.environment(), cwd="/", check=True)


@NIGHTLY
@pytest.mark.parametrize("python", ["python3.11", "python3.12", "python3.13"])
def test_an_empty_environment_has_the_demo_and_a_first_letter(
    wheel: Path, tmp_path: Path, python: str
) -> None:
    """With the libraries as the index has them today, not as they are pinned."""
    venv = Venv(tmp_path / "venv", tmp_path / "home")
    venv.home.mkdir()
    uv, began = [sys.executable, "-m", "uv", "--no-cache", "--no-python-downloads"], time.monotonic()
    if subprocess.run([*uv, "venv", "--quiet", "--python", python, str(venv.folder)], check=False).returncode:
        pytest.skip(f"there is no {python}")
    install = ["pip", "install", "--quiet", "--python", f"{venv.folder}/bin/python", str(wheel)]
    subprocess.run([*uv, *install], check=True, timeout=600)
    installed = time.monotonic()
    first_letter(venv)
    seconds = time.monotonic() - installed
    size = sum(path.stat().st_size for path in venv.packages.rglob("*") if path.suffix != ".pyc")
    said = f"{python}: {size / 1e6:.0f} MB, installed in {installed - began:.0f} s, letter in {seconds:.0f} s"
    print(f"\\n{said}")  # noqa: T201
    demo = json.loads(venv.manage("demo", "--json", timeout=600, DEMO_EXIT="1"))
    assert len(demo["newsletters"]) == 7
