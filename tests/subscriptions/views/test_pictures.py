"""Uploaded pictures are served under the hash of their content, for ever and publicly."""

import io

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from common.pictures.codec import clean_picture
from common.pictures.picture import CleanPicture
from subscriptions.branding.brands import _served, kept_picture
from subscriptions.models import Picture
from tests.pictures import drawn, octets_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    _served.clear()


@pytest.fixture
def picture() -> CleanPicture:
    found = clean_picture(io.BytesIO(octets_of(drawn(40, 20))))
    kept_picture(found)
    return found


def test_it_is_served_as_what_it_is_and_runs_nothing(client: Client, picture: CleanPicture) -> None:
    answer = client.get(f"/pictures/{picture.name}")
    assert answer.content == picture.data
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "Vary" not in answer.headers
    assert not answer.cookies


def test_who_has_it_is_told_so(client: Client, picture: CleanPicture) -> None:
    etag = client.get(f"/pictures/{picture.name}").headers["ETag"]
    again = client.get(f"/pictures/{picture.name}", headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    assert "immutable" in again.headers["Cache-Control"]


def test_the_database_is_asked_once(client: Client, picture: CleanPicture) -> None:
    with CaptureQueriesContext(connection) as asked:
        for _ in range(3):
            client.get(f"/pictures/{picture.name}")
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["x.png", "0" * 40 + ".png", "..%2f..%2fetc%2fpasswd"])
def test_what_is_not_there_is_not_there(client: Client, name: str) -> None:
    answer = client.get(f"/pictures/{name}")
    assert answer.status_code == 404
    assert "immutable" not in answer.headers.get("Cache-Control", "")


def test_the_same_picture_is_kept_once(picture: CleanPicture) -> None:
    assert kept_picture(picture) == kept_picture(picture.name) == picture.name
    assert kept_picture(False) is kept_picture(None) is kept_picture("") is None
    assert Picture.objects.count() == 1
