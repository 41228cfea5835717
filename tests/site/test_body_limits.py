"""Size limits of requests; uploads are written to disk only where a file is expected."""

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.test import Client

from common.body_limits import MAX_FORM_BYTES, limit_of
from tests.factories import SubscribableFactory

pytestmark = pytest.mark.django_db

LISTS = (
    "/admin/feeds/feed/opml/",
    "/admin/subscriptions/destination/import/",
    "/admin/subscriptions/subscription/import/",
    "/admin/delivery/issueimport/add/",
    "/admin/feedletter_site/arrival/add/",
)
PICTURES = ("/admin/subscriptions/sitesettings/1/change/", "/admin/subscriptions/subscribable/1/change/")
FILE_PAGES = (*LISTS, *PICTURES, "/reader/feeds/opml/")
STRANGERS = (
    *("/", "/sign-in/", "/s/news/", "/s/news/subscribe/", "/s/news/embed/", "/v0/subscription/create"),
    *("/confirm/x/", "/unsubscribe/x/", "/manage/x/", "/setup/x/", "/challenge/", "/admin/login/"),
    *FILE_PAGES,
)


@pytest.fixture(autouse=True)
def newsletter() -> None:
    SubscribableFactory(name="news")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of files that were written to the disk."""
    found: list[str] = []
    new_file = TemporaryFileUploadHandler.new_file

    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        new_file(self, *args, **kwargs)
        found.append(self.file.name)

    monkeypatch.setattr(TemporaryFileUploadHandler, "new_file", noting)
    return found


def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client


def a_file(size: int) -> SimpleUploadedFile:
    return SimpleUploadedFile("x.csv", b"x" * size)


@pytest.mark.needs("reader")
@pytest.mark.parametrize("path", STRANGERS)
def test_a_stranger_sends_no_more_than_a_form_anywhere(path: str, written: list[str]) -> None:
    answer = Client().post(path, {"file": a_file(MAX_FORM_BYTES)})
    assert answer.status_code == 413
    assert "larger than this page takes" in answer.content.decode()
    assert not written


@pytest.mark.parametrize("path", STRANGERS)
def test_a_small_file_of_a_stranger_is_thrown_away(path: str, written: list[str]) -> None:
    assert Client().post(path, {"file": a_file(20_000), "email": "x"}).status_code < 500
    assert not written


def test_the_api_says_so_as_a_problem() -> None:
    answer = Client().post("/api/v1/feeds/", b"x" * 1_100_000, content_type="application/json")
    assert answer.status_code == 413
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert Client().post("/api/v1/feeds/", b"x" * 900_000, content_type="application/json").status_code == 401


def test_staff_send_pages_more_than_a_form_but_no_files(written: list[str]) -> None:
    page = "/admin/auth/group/add/"
    client = admin()
    assert client.post(page, {"name": "x" * MAX_FORM_BYTES}).status_code == 200
    assert client.post(page, {"name": "x", "file": a_file(1_000_000)}).status_code == 302
    assert client.post(page, {"file": a_file(3_000_000)}).status_code == 413
    assert not written


@pytest.mark.parametrize("path", LISTS)
def test_staff_upload_files_where_one_is_asked_for(path: str, written: list[str]) -> None:
    client = admin()
    answer = client.post(path, {"file": a_file(4_000_000)})
    assert answer.status_code == 200
    assert "Choose the file." not in answer.content.decode()
    assert len(written) == 1
    assert Client().get(path).status_code == 302


@pytest.mark.needs("reader")
def test_files_are_taken_by_few_pages_only() -> None:
    from django.urls import get_resolver

    found = []

    def walk(patterns: list[Any], before: str) -> None:
        for each in patterns:
            if hasattr(each, "url_patterns"):
                walk(each.url_patterns, before + str(each.pattern))
            elif limit_of(each.callback).files:
                found.append("/" + before + str(each.pattern))

    walk(get_resolver().url_patterns, "")
    pages = (
        "delivery/broadcast/{}/change",
        "subscriptions/sitesettings/{}/change",
        "subscriptions/subscribable/{}/change",
    )
    pictures = [f"/admin/{page.format('<path:object_id>')}/" for page in pages]
    pictures.append("/admin/delivery/broadcast/<int:pk>/picture/")
    # Of readers, only those signed in.
    assert sorted(found) == sorted([*LISTS, *pictures, "/reader/compose/", "/reader/feeds/opml/"])
    assert django_settings.FILE_UPLOAD_HANDLERS == []
