"""With LOG_FORMAT=json every line of every process is an object, including gunicorn's and Celery's."""

import json
import logging
import os
import signal
import sys
from pathlib import Path

import pytest

from tests import forks
from tests.databases import ROOT
from tests.e2e.processes import running, until
from tests.load.installation import sqlite_installation
from tests.services import free_port


@pytest.mark.slow
@pytest.mark.parametrize("process", ["a worker", "gunicorn"])
def test_every_line_is_an_object(process: str, tmp_path: Path) -> None:
    worker = ["celery", "--quiet", "-A", "feedletter_site", "worker", "-P", "threads", "-c2", "-Q", "send"]
    web = ["gunicorn", "--bind", f"127.0.0.1:{free_port()}", "--log-level", "info", "feedletter_site.wsgi"]
    log = tmp_path / f"{process}.log"
    with sqlite_installation(tmp_path, LOG_FORMAT="json", EMAIL_URL="mailbox:") as site:
        environment = {name: text for name, text in site.environment.items() if name != "C_FORCE_ROOT"}
        command = [
            sys.executable,
            "-W",
            "ignore:No directory at",
            "-m",
            *(worker if "worker" in process else web),
        ]
        with running(process, command, environment, tmp_path) as child:
            if process == "gunicorn":
                until(lambda: "Booting worker" in log.read_text(), "booting")
            else:
                until((tmp_path / "alive" / "celery").exists, "the first pass")
            os.kill(child.pid, signal.SIGTERM)
            child.wait(30)
    lines = log.read_text().splitlines()
    assert lines
    entries = [json.loads(line) for line in lines]
    assert all({"time", "level", "logger", "message"} <= entry.keys() for entry in entries)
    assert any("hutdown" in entry["message"] or "Shutting down" in entry["message"] for entry in entries)


@pytest.mark.slow
def test_a_damaged_database_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "feedletter.db").write_bytes(b"this is no database at all, but some text" * 30)
    environment = {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{tmp_path}/feedletter.db",
        "DATA_DIR": str(tmp_path),
    }
    for command in (["list_feeds"], ["up", "--bind", f"127.0.0.1:{free_port()}"]):
        done = forks.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "is damaged (file is not a database). Restore a backup" in done.stderr
        told = [line for line in done.stderr.splitlines() if not line.startswith("Creating tables (")]
        assert len(told) == 1, done.stderr


@pytest.mark.parametrize(
    "library", ["apprise", "botocore", "mastodon", "oauthlib", "requests_oauthlib", "urllib3"]
)
def test_a_library_that_is_given_secrets_logs_no_details_even_while_debugging(library: str) -> None:
    logger = logging.getLogger(f"{library}.auth")
    assert logger.getEffectiveLevel() >= logging.WARNING
