"""No key of a link stands in any log, whoever writes it."""

import io
import json
import logging
import sys
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client, RequestFactory
from django.utils.module_loading import import_string

from feedletter_site.logs import JsonFormatter, without_keys
from tests.factories import SubscriptionFactory

KEY = "1234-927d0a1b-SECRET"
PREFIXES = ("confirm", "unsubscribe", "manage", "sign-in", "setup", "websub", "reader/invitation")


@pytest.mark.every_case
@pytest.mark.django_db
@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("method", ["PROPFIND", "OPTIONS", "PUT", "GET", "POST"])
@pytest.mark.parametrize("end", ["/", "/x", ""])
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
    """As gunicorn's and Celery's."""
    written = io.StringIO()
    other = logging.Logger("gunicorn.error")
    other.addHandler(logging.StreamHandler(written))
    other.error("Error handling request %s", f"/manage/{KEY}/")
    assert written.getvalue() == "Error handling request /manage/.../\n"


def test_what_is_no_key_stays() -> None:
    for text in ("/sign-in/", "/s/manage/archive", "GET /mine/ 200", "/admin/feeds/feed/1/change/"):
        assert without_keys(text) == text.replace("/manage/archive", "/manage/...")
    assert without_keys("GET /v0/subscription/confirm?invitation=5abc&x=1") == (
        "GET /v0/subscription/confirm?invitation=...&x=1"
    )
