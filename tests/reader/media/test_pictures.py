"""Foreign pictures served from our own URL: which ones, and what their servers can learn."""

import os
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from common import counters
from common.rates import Limit
from reader.media import pictures
from reader.media.pictures import MOST_PIXELS, declared_size, forget_oldest, key_of, media_path, picture_type
from reader.models import Channel, Reader
from tests.reader.posts import an_entry, put
from tests.servers.feed_server import FeedServer

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 100
SHOWN = [
    (b"\xff\xd8\xff\xe0", "image/jpeg"),
    (PNG, "image/png"),
    (b"GIF89a..", "image/gif"),
    (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    (b"\0\0\0\x20ftypavif", "image/avif"),
]
NOT_SHOWN = [
    b"",
    b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    b"<html>",
    b"%PDF-1.7",
    b"GIF",
    b"\0\0\0\x20ftypmp42",
]


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    cache.clear()
    return tmp_path / "media"


@pytest.mark.parametrize(("body", "kind"), [*SHOWN, *((body, "") for body in NOT_SHOWN)])
def test_a_picture_is_known_by_its_first_bytes(body: bytes, kind: str) -> None:
    assert picture_type(body) == kind


def test_it_is_fetched_once_and_nothing_of_the_reader_goes_out_or_of_the_server_comes_in(
    server: FeedServer,
) -> None:
    url = server.serve(
        "/a.png", PNG, headers={"Content-Type": "text/html", "Set-Cookie": "a=b", "X-Own": "1"}
    )
    browser = Client(
        headers={"Referer": "https://reader.example/secret", "User-Agent": "Ada's", "Cookie": "s=1"}
    )
    answers = [browser.get(media_path(url)) for _ in range(2)]
    for answer in answers:
        assert (answer.status_code, answer.content) == (200, PNG)
        assert answer.headers["Content-Type"] == "image/png"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert "immutable" in answer.headers["Cache-Control"]
        assert "X-Own" not in answer.headers
        assert not answer.cookies
    (asked,) = server.requests
    assert not {"referer", "cookie"} & asked.headers.keys()
    assert "Ada" not in asked.headers["user-agent"]
    again = browser.get(media_path(url), headers={"If-None-Match": answers[0].headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_an_address_that_we_did_not_make_is_refused(server: FeedServer) -> None:
    path = media_path(server.serve("/a.png", PNG))
    start, mac, packed = path.rsplit("/", 2)
    other = media_path(server.url("/b.png")).rsplit("/", 1)[1]
    for bad in (
        f"{start}/{'0' * 32}/{packed}",
        f"{start}/{mac}/{other}",
        f"{start}/{mac}/%FF",
        f"{start}/{mac[:31]}/{packed}",
    ):
        assert Client().get(bad).status_code == 403
    assert server.requests == []


def test_addresses_made_with_the_key_before_still_count(settings: Any, server: FeedServer) -> None:
    path = media_path(server.serve("/a.png", PNG))
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another" * 8
    assert Client().get(path).status_code == 200


@pytest.mark.parametrize(
    ("body", "reply"),
    [(b"<svg/>", {}), (PNG, {"status": 404}), (PNG + b"0" * 5_000_000, {})],
    ids=["svg", "missing", "too large"],
)
def test_what_is_no_picture_is_not_shown_and_not_asked_for_again(
    server: FeedServer, folder: Path, body: bytes, reply: dict[str, Any]
) -> None:
    path = media_path(server.serve("/a", body, **reply))
    assert [Client().get(path).status_code for _ in range(2)] == [404, 404]
    assert len(server.requests) == 1
    assert not folder.exists()


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest", "http://10.0.0.1/a.png", "http://[::]/a.png"]
)
def test_what_is_not_public_is_not_asked(url: str) -> None:
    assert Client().get(media_path(url)).status_code == 404


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:image/png;base64,AA", "file:///etc/passwd", "", "x" * 9_000]
)
def test_other_addresses_get_none_of_ours(url: str) -> None:
    assert media_path(url) == ""


def test_it_is_counted_what_became_of_each(server: FeedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: Counter[tuple[str, str]] = Counter()
    monkeypatch.setattr(counters, "_counts", counted)
    monkeypatch.setattr(pictures, "FETCHES_OF_A_HOST", Limit("media-host", 2))
    for path in ("/a.png", "/a.png", "/a.png", "/none.png", "/c.png"):
        url = server.serve(path, PNG, status=404 if "none" in path else 200)
        Client().get(media_path(url))
    found = {label: number for (name, label), number in counted.items() if name == "pictures"}
    assert found == {"fetched": 1, "kept": 2, "none": 1, "busy": 1}


def test_a_host_is_not_asked_without_end(server: FeedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "FETCHES_OF_A_HOST", Limit("media-host", 3))
    paths = [media_path(server.serve(f"/{number}.png", PNG)) for number in range(4)]
    assert [Client().get(path).status_code for path in paths] == [200, 200, 200, 503]
    # The refusal is not stored with the picture.
    monkeypatch.setattr(pictures, "FETCHES_OF_A_HOST", Limit("media-host", 9))
    assert Client().get(paths[3]).status_code == 200


def test_what_was_shown_longest_ago_goes_first(server: FeedServer, folder: Path) -> None:
    urls = [server.serve(f"/{number}.png", PNG) for number in range(3)]
    for age, url in enumerate(urls):
        Client().get(media_path(url))
        os.utime(folder / key_of(url)[:2] / key_of(url), (1_000 - age, 1_000 - age))
    assert forget_oldest(2 * len(PNG)) == 1
    assert [(folder / key_of(url)[:2] / key_of(url)).exists() for url in urls] == [True, True, False]


@pytest.mark.django_db
def test_pages_show_pictures_by_our_address_only(
    web: Callable[[Reader], Client], ada: Reader, home: Channel
) -> None:
    inline, beside = "https://pictures.example/a.png?x=1&y=2", "https://pictures.example/b.png"
    html = '<p><img src="https://pictures.example/a.png?x=1&amp;y=2" alt="A boat" width="40"></p>'
    place = put(
        home, an_entry(jf2={"name": "Boats", "photo": [beside], "content": {"html": html, "text": "x"}})
    )
    for address in ("/reader/", f"/reader/post/{place.entry_id}/"):
        page = web(ada).get(address).content.decode()
        assert f'<img src="{media_path(inline)}" alt="A boat" width="40" loading="lazy"' in page
        assert f'<img src="{media_path(beside)}" alt=""' in page
        assert "pictures.example" not in page


def drawn(kind: str, width: int, height: int, **options: Any) -> bytes:
    file = BytesIO()
    Image.new("RGB", (width, height)).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("GIF", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True, "exif": b"Exif\0\0" + b"\xff\xc0" * 300, "comment": b"\xff" * 99}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif\0\0" + b"0" * 30}),
    ],
)
def test_the_size_of_a_picture_is_read_from_its_header(kind: str, options: dict[str, Any]) -> None:
    body = drawn(kind, 321, 123, **options)
    assert declared_size(body) == (321, 123)
    assert all(declared_size(body[:length]) is not None for length in range(len(body)))


@given(st.sampled_from([body for body, _ in SHOWN]), st.binary(max_size=200))
def test_no_header_is_too_broken(begun: bytes, rest: bytes) -> None:
    width, height = declared_size(begun + rest)
    assert width >= 0
    assert height >= 0


@pytest.mark.parametrize(
    ("kind", "at", "order"), [("PNG", 16, "big"), ("GIF", 6, "little"), ("JPEG", None, "big")]
)
def test_a_picture_that_would_fill_the_memory_is_not_shown(
    server: FeedServer, kind: str, at: int | None, order: Any
) -> None:
    body, size = drawn(kind, 99, 99), 4 if kind == "PNG" else 2
    at = body.index((99).to_bytes(2) * 2) if at is None else at
    huge = body[:at] + (60_000).to_bytes(size, order) * 2 + body[at + 2 * size :]
    assert declared_size(huge) == (60_000, 60_000)
    assert Client().get(media_path(server.serve("/ok", body))).status_code == 200
    assert Client().get(media_path(server.serve("/huge", huge))).status_code == 404
    assert MOST_PIXELS < 60_000**2


def test_one_that_was_kept_before_is_not_shown_either(server: FeedServer, folder: Path) -> None:
    path = media_path(url := server.serve("/a.png", drawn("PNG", 9, 9)))
    assert Client().get(path).status_code == 200
    body = drawn("PNG", 9, 9)
    huge = body[:16] + (60_000).to_bytes(4) * 2 + body[24:]
    (folder / key_of(url)[:2] / key_of(url)).write_bytes(huge)
    server.serve("/a.png", huge)
    assert Client().get(path).status_code == 404
