"""The output and child processes of `manage.py up`; tests/e2e/test_up.py runs it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError
from pytest_django import Settings

from feedletter_site.management.commands.up import (
    address,
    data_locked,
    greeting,
    plan,
    point_links_to,
    refuse_second,
    refuse_taken,
)
from feedletter_site.ticks.schedule import STAGES, THREADS, queues
from tests.e2e.processes import ROOT, clean_environment, manage, running, until
from tests.examples import NIGHTLY, some_now
from tests.services import free_port


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BIND", "SITE_URL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_an_address_that_is_taken_is_refused_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(
            CommandError, match=f"can't listen on 127.0.0.1:{port} .*: BIND=127.0.0.1:.* make run"
        ):
            refuse_taken("127.0.0.1", port)


def test_a_bind_that_is_no_address_is_refused() -> None:
    with pytest.raises(CommandError, match="BIND is wrong: expected host:port"):
        address("8000")


def test_links_lead_to_where_it_listens_unless_site_url_says_otherwise() -> None:
    assert point_links_to("0.0.0.0", 8001) == "http://127.0.0.1:8001"
    assert os.environ["SITE_URL"] == "http://127.0.0.1:8001"
    os.environ["SITE_URL"] = "https://letters.example.org"
    assert point_links_to("127.0.0.1", 8001) == "https://letters.example.org"


def test_links_of_commands_lead_to_bind_too(tmp_path: Path) -> None:
    environment = {"BIND": "[::]:28000", "DATA_DIR": str(tmp_path)}
    rows = {row["name"]: row["value"] for row in manage("show_settings", environment=environment)}
    assert (rows["SITE_URL"], rows["BIND"]) == ("http://[::1]:28000", "[::]:28000")


@pytest.mark.django_db
def test_the_greeting_says_that_letters_are_kept_here(settings: Settings) -> None:
    settings.EMAIL_URL = "mailbox:"
    said = greeting("http://x", None).sentence
    assert "Emails are kept here and not sent until you set up email (http://x/admin/mail/)." in said
    settings.EMAIL_URL = "smtp://mail.example.org"
    assert "kept here" not in greeting("http://x", None).sentence


@pytest.mark.django_db
def test_the_greeting_has_the_setup_link_only_when_there_is_one() -> None:
    assert "http://x/setup/abc/" in greeting("http://x", "/setup/abc/").sentence
    assert "setup" not in greeting("http://x", None).sentence


def test_programs_are_called_by_module_not_by_path(settings: Settings) -> None:
    one, two = (plan("127.0.0.1:8000", processes).commands for processes in (1, 2))
    assert (set(one), set(two)) == ({"site"}, {"web", "worker"})
    commands = [*one.values(), *two.values()]
    assert all(command[0] == sys.executable and "-m" in command for command in commands)


def test_with_a_broker_each_part_is_a_process_of_its_own(settings: Settings) -> None:
    settings.EMBEDDED = False
    assert set(plan("127.0.0.1:8000", 1).commands) == {"web", "worker", "beat"}


def test_there_are_more_threads_than_queues(settings: Settings) -> None:
    assert {settings.CELERY_TASK_ROUTES[stage]["queue"] for stage in STAGES} <= set(queues())
    assert len(queues()) < THREADS


@pytest.mark.slow
def test_a_worker_does_without_the_pages_and_their_libraries(tmp_path: Path) -> None:
    """They took a fifth of its memory."""
    loaded = "import django, sys; django.setup(); from feedletter_site.celery import app; "
    loaded += "app.loader.import_default_modules(); print(*sys.modules)"
    env = {**os.environ, "CELERY_SKIP_CHECKS": "1", "DATABASE_URL": f"sqlite:///{tmp_path}/unused.db"}
    ran = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True, env=env)
    needless = {"delivery.admin", "unfold.admin", "rest_framework.views", "psycopg", "delivery.panels", "PIL"}
    needless |= {"allauth.account.forms", "allauth.account.views", "fido2", "jwt", "qrcode"}
    assert "delivery.tasks" in ran.stdout.split()
    assert not needless & set(ran.stdout.split())
    assert "--skip-checks" in plan("127.0.0.1:8000", 2).commands["worker"]


@pytest.mark.parametrize(("log_format", "own_logger"), some_now([("console", False), ("json", True)]))
def test_gunicorns_parent_looks_at_the_settings_and_keeps_nothing_of_them(
    log_format: str, own_logger: bool
) -> None:
    looked = "import runpy, sys; names = runpy.run_path('gunicorn.conf.py'); "
    looked += "print('django' in sys.modules, 'celery' in sys.modules, 'logger_class' in names)"
    env = {**os.environ, "LOG_FORMAT": log_format}
    ran = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True, env=env)
    assert ran.stdout.split() == ["False", "False", str(own_logger)]


@pytest.mark.slow
def test_a_second_up_with_the_same_data_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    code = (
        "import sys, time, django; django.setup(); from pathlib import Path; "
        "from feedletter_site.management.commands.up import refuse_second; "
        "refuse_second(Path(sys.argv[1])); print('locked', flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as first:
        assert first.stdout
        assert first.stdout.readline() == b"locked\n"
        with pytest.raises(CommandError, match=r"Another “manage\.py up” runs with .* as its DATA_DIR"):
            refuse_second(tmp_path)
        first.kill()
        first.wait()
    refuse_second(tmp_path)


def test_a_lock_is_given_back_though_a_child_has_its_file(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path
    with data_locked() as files:
        child = subprocess.Popen(["/bin/sleep", "60"], pass_fds=files)
    with child, data_locked():
        child.kill()


@NIGHTLY
def test_a_second_up_on_the_same_file_from_another_data_dir_is_refused(tmp_path: Path) -> None:
    """Also by another name of the file."""
    (tmp_path / "link.db").symlink_to(tmp_path / "feedletter.db")
    first, second = (
        {
            "BIND": f"127.0.0.1:{free_port()}",
            "DATABASE_URL": f"sqlite:///{tmp_path}/{name}.db",
            "DATA_DIR": f"{tmp_path}/{name}",
        }
        for name in ("feedletter", "link")
    )
    command = [sys.executable, "manage.py", "up"]
    with running("up", command, first, tmp_path):
        until(lambda: (tmp_path / "feedletter" / "up.alive").exists(), "the first up", 60)
        done = subprocess.run(
            command, cwd=ROOT, env=clean_environment(second), capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert f"Another “manage.py up” uses the database {tmp_path}/feedletter.db." in done.stderr


def test_a_folder_that_cannot_be_written_to_is_refused_in_a_sentence() -> None:
    with pytest.raises(CommandError, match="DATA_DIR cannot be written to"):
        refuse_second(Path("/proc/nowhere"))
