"""With LOG_FORMAT=json every line of every process is an object, including gunicorn's and Celery's.

No log contains the secret of a link, neither ours nor a library's.
"""

import io
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client, RequestFactory
from django.urls import URLResolver, get_resolver
from django.utils.module_loading import import_string

from feedletter_site.logs import JsonFormatter, without_keys
from tests import forks
from tests.databases import ROOT
from tests.e2e.processes import running, until
from tests.examples import some_now
from tests.factories import SubscriptionFactory
from tests.load.installation import sqlite_installation
from tests.services import free_port

KEY = "1234-927d0a1b-SECRET"
# Names of URL parameters: the secret ones, and all others.
SECRETS = {"token", "key", "mac", "packed", "uidb36"}
PUBLIC = {
    "account",
    "app_label",
    "bridge",
    "call",
    "content_type_id",
    "folder",
    "format",
    "id",
    "kind",
    "name",
}
PUBLIC |= {"newsletter", "object_id", "path", "pk", "slug", "template", "uid", "url", "version"}
PREFIXES = ("confirm", "unsubscribe", "manage", "sign-in", "setup", "websub", "reader/invitation")


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


def url_paths(resolver: URLResolver, start: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        path = f"{start}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from url_paths(pattern, path)
        else:
            yield path


def parameters(path: str) -> list[str]:
    return re.findall(r"<(?:\w+:)?(\w+)>", path)


PATHS = sorted(set(url_paths(get_resolver())))
WITH_SECRETS = [path for path in PATHS if SECRETS & set(parameters(path))]


@pytest.mark.django_db
@pytest.mark.parametrize("prefix", some_now(PREFIXES))
@pytest.mark.parametrize("method", some_now(["PROPFIND", "OPTIONS", "PUT", "GET", "POST"]))
@pytest.mark.parametrize("end", some_now(["/", "/x", ""]))
def test_what_django_logs_of_a_refused_request_has_no_key(
    caplog: pytest.LogCaptureFixture, prefix: str, method: str, end: str
) -> None:
    SubscriptionFactory()
    Client(raise_request_exception=False).generic(method, f"/{prefix}/{KEY}{end}")
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("formatter", ["json", "console"])
def test_no_handler_of_ours_writes_a_key(prefix: str, formatter: str) -> None:
    configured: Any = django_settings.LOGGING
    made = dict(configured["formatters"][formatter])
    built = import_string(made.pop("()"))(*made.values())
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(built)
    path = f"/{prefix}/{KEY}/"
    try:
        raise ValueError(f"cannot read https://letters.example{path}?a=b")
    except ValueError:
        record = logging.makeLogRecord(
            {"msg": "Not Found: %s", "args": (path,), "request": RequestFactory().get(path)}
        )
        record.exc_info = sys.exc_info()
        handler.emit(record)
    assert "SECRET" not in written.getvalue()
    assert f"Not Found: /{prefix}/.../" in written.getvalue()
    if isinstance(built, JsonFormatter):
        assert json.loads(written.getvalue())["message"] == f"Not Found: /{prefix}/.../"


@pytest.mark.parametrize("glue", ["?", "%3F"])
def test_what_a_service_leads_back_with_is_in_no_log(glue: str) -> None:
    path = f"/admin/bridge-connected/{glue}code=SECRET&state=SECRET2"
    assert without_keys(f"GET {path} HTTP/1.1") == f"GET /admin/bridge-connected/{glue}... HTTP/1.1"


def test_a_logger_with_a_handler_of_its_own_writes_none_either() -> None:
    """Such as gunicorn's and Celery's."""
    written = io.StringIO()
    other = logging.Logger("gunicorn.error")
    other.addHandler(logging.StreamHandler(written))
    other.error("Error handling request %s", f"/manage/{KEY}/")
    assert written.getvalue() == "Error handling request /manage/.../\n"


def test_each_url_parameter_is_known_as_a_secret_or_as_public() -> None:
    """So a new secret in a URL is masked, too."""
    unknown = {name for path in PATHS for name in parameters(path)} - SECRETS - PUBLIC
    assert not unknown, f"Add {unknown} to SECRETS or PUBLIC."


@pytest.mark.parametrize("path", WITH_SECRETS)
def test_secrets_of_all_urls_are_masked_in_logs_and_by_the_nginx_example(path: str) -> None:
    sample = re.sub(r"\(\?P<\w+>[^)]*\)|<[^>]+>", KEY, path).replace("/^", "/").strip("^")
    # Links with a tail: text behind a token that a program included in the link.
    address = "/" + sample.replace("/?(?:[^A-Za-z0-9_/-][\\s\\S]*)?\\Z", ">).")
    assert "SECRET" not in without_keys(f"Not Found: {address}")
    assert "SECRET" not in without_keys(json.dumps({"path": address}))
    assert nginx_mask().match(address)


def nginx_mask() -> re.Pattern[str]:
    """Return the expression of docs/examples/nginx.conf for URLs with secrets."""
    text = (Path(__file__).parents[2] / "docs/examples/nginx.conf").read_text("utf-8")
    (expression,) = re.findall(r"^    ~(\S+)\s+/\$page/\.\.\.;$", text, re.MULTILINE)
    return re.compile(expression.replace("(?<page>", "(?P<page>"))


@pytest.mark.parametrize("name", ["access_token", "token", "code", "state", "invitation"])
def test_secrets_in_a_query_are_masked(name: str) -> None:
    assert without_keys(f"GET /x?a=1&{name}=SECRET&b=2") == f"GET /x?a=1&{name}=...&b=2"


def test_what_is_no_key_stays() -> None:
    for text in ("/sign-in/", "/s/manage/archive", "GET /mine/ 200", "/admin/feeds/feed/1/change/"):
        assert without_keys(text) == text.replace("/manage/archive", "/manage/...")
    assert without_keys("GET /v0/subscription/confirm?invitation=5abc&x=1") == (
        "GET /v0/subscription/confirm?invitation=...&x=1"
    )
