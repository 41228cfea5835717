"""Posts' pictures, fetched and resized; on any error the picture is left out."""

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from PIL import Image

from channels import pictures
from channels.announcement import PostImage
from channels.pictures import PictureBounds, fetched_picture, forget_pictures
from common import child_process
from common.pictures import child
from common.pictures.child import resized
from common.pictures.picture import BadPicture, CleanPicture
from common.transactions import NetworkInTransaction
from tests.contracts.bridge import closed_port
from tests.examples import some_now
from tests.pictures import drawn, octets_of
from tests.servers.api_server import Reply
from tests.servers.picture_host import PictureHost, noise

pytestmark = pytest.mark.usefixtures("loopback_allowed")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture
def host() -> Iterator[PictureHost]:
    forget_pictures()
    with PictureHost() as server:
        yield server
    forget_pictures()


def opened(picture: CleanPicture | None) -> Image.Image:
    assert picture is not None
    image = Image.open(io.BytesIO(picture.data))
    image.load()
    assert image.size == (picture.width, picture.height)
    assert f"image/{(image.format or '').lower()}" == picture.media_type
    return image


@pytest.mark.parametrize("kind", some_now(["PNG", "JPEG", "GIF", "WEBP"]))
def test_each_kind_becomes_png_or_jpeg(host: PictureHost, kind: str) -> None:
    image = opened(fetched_picture(host.has(octets_of(drawn(300, 100), kind))))
    assert image.size == (300, 100)
    assert image.format in ("PNG", "JPEG")


def test_a_picture_is_made_as_small_as_the_service_wants(host: PictureHost) -> None:
    picture = fetched_picture(host.has(noise(1500, 900)), PictureBounds(most_side=600, most_bytes=60_000))
    assert picture is not None
    assert len(picture.data) <= 60_000
    assert max(opened(picture).size) <= 600
    assert picture.width / picture.height == pytest.approx(1500 / 900, rel=0.02)


def test_what_is_see_through_is_white_where_png_has_no_room(host: PictureHost) -> None:
    clear = Image.merge("RGBA", [Image.effect_noise((400, 400), 99)] * 3 + [Image.new("L", (400, 400))])
    picture = fetched_picture(host.has(octets_of(clear)), PictureBounds(most_side=400, most_bytes=30_000))
    assert opened(picture).convert("RGB").getpixel((9, 9)) == (255, 255, 255)


def test_nothing_that_came_with_it_is_left(host: PictureHost) -> None:
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    octets = octets_of(drawn(60, 40), "JPEG", exif=exif, comment=b"a secret place")
    picture = fetched_picture(host.has(octets))
    assert picture is not None
    assert b"secret" in octets
    assert b"secret" not in picture.data
    assert not opened(picture).getexif()


def test_what_the_server_calls_it_is_not_believed(host: PictureHost) -> None:
    image = PostImage(f"{host.url}/x")
    host.paths["/x"] = Reply(body=octets_of(drawn(30, 30)), headers={"Content-Type": "text/html"})
    assert fetched_picture(image)


@pytest.mark.parametrize(
    "octets",
    [
        SVG, b"", b"GIF89a", b"<html>hotlinking is not allowed</html>", b"BM" + b"\0" * 100, b"%PDF-1.7",
        b"\xff\xd8\xff" + b"\0" * 1000, octets_of(drawn(300, 300), "JPEG")[:200],
        octets_of(drawn(9, 9), "TIFF"),
    ],
)  # fmt: skip
def test_what_is_no_picture_is_left_out(host: PictureHost, octets: bytes) -> None:
    assert fetched_picture(host.has(octets)) is None


@pytest.mark.parametrize("status", [403, 404, 410, 429, 500, 503])
def test_what_is_not_there_is_left_out(host: PictureHost, status: int) -> None:
    host.paths["/a.png"] = Reply(status, octets_of(drawn(9, 9)))
    assert fetched_picture(PostImage(f"{host.url}/a.png")) is None


@pytest.mark.slow
def test_too_many_pixels_are_never_decoded(host: PictureHost) -> None:
    most = octets_of(Image.new("P", (8_000, 5_000)))
    more = octets_of(Image.new("P", (8_000, 5_001)))
    hundred = octets_of(Image.new("P", (10_000, 10_000)))
    assert fetched_picture(host.has(most, "/most"))
    assert fetched_picture(host.has(more, "/more")) is None
    assert fetched_picture(host.has(hundred, "/hundred")) is None


def test_too_many_octets_are_never_read(host: PictureHost) -> None:
    assert fetched_picture(host.has(octets_of(drawn(9, 9)) + bytes(10_000_000))) is None


@pytest.mark.parametrize("way", ["silent", "drips", "hangs_up"])
def test_a_slow_or_broken_server_is_not_waited_for(
    host: PictureHost, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "FETCH_SECONDS", 0.5)
    image = host.drawn()
    told: Any = {way: True}
    host.paths["/a.png"] = Reply(body=host.paths["/a.png"].body, **told)
    assert fetched_picture(image) is None


def test_a_private_address_is_not_asked(host: PictureHost, settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = ()
    assert fetched_picture(host.drawn()) is None
    assert host.requests == []


@pytest.mark.parametrize(
    "url", ["", "http://", "https://[bad", "data:image/png;base64,AAAA", "file:///etc/x"]
)
def test_what_is_no_address_is_left_out(url: str) -> None:
    assert fetched_picture(PostImage(url)) is None


def test_a_server_that_is_away_is_left_out() -> None:
    assert fetched_picture(PostImage(f"{closed_port()}/a.png")) is None


def test_each_address_is_asked_once_for_all_accounts(host: PictureHost) -> None:
    image = host.drawn()
    first = fetched_picture(image)
    assert first is not None
    assert fetched_picture(image) is first
    smaller = fetched_picture(image, PictureBounds(most_side=32))
    assert smaller is not None
    assert smaller.width == 32
    assert host.hits() == 1


def test_what_could_not_be_had_is_not_tried_again_for_each_account(host: PictureHost) -> None:
    image = PostImage(f"{host.url}/missing.png")
    assert [fetched_picture(image) for _ in range(3)] == [None] * 3
    assert host.hits("/missing.png") == 1


def test_why_is_logged_without_what_an_address_may_hold(
    host: PictureHost, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "channels.pictures")
    assert fetched_picture(PostImage(f"{host.url}/missing.png?token=secret")) is None
    assert "404" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.django_db
def test_a_fetch_inside_a_transaction_is_our_own_mistake(host: PictureHost) -> None:
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        fetched_picture(host.drawn())


def test_a_decoder_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "DECODING_SECONDS", 0.5)
    monkeypatch.setattr(child_process, "_BOOT", "import time; time.sleep(30)")
    with pytest.raises(BadPicture, match="in a moment"):
        resized(octets_of(drawn(9, 9)), most_side=9, most_bytes=9_000)


def answering(answer: str) -> str:
    return (
        "import os, socket, struct; line = socket.socket(fileno=0); line.recv(100_000)\n"
        f"answer = {answer}; line.sendall(struct.pack('!I', len(answer)) + answer)"
    )


@pytest.mark.parametrize("said", [b"", b"JPEG", b"SVG " + bytes(8) + b"x", b"PNG " + bytes(8)])
def test_an_answer_that_is_no_picture_is_not_believed(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr(child_process, "_BOOT", answering(repr(said)))
    with pytest.raises(BadPicture):
        resized(octets_of(drawn(9, 9)), most_side=9, most_bytes=9_000)


def test_the_child_knows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hidden")
    boot = answering("b'PNG ' + bytes(8) + repr(dict(os.environ)).encode()")
    monkeypatch.setattr(child_process, "_BOOT", boot)
    assert b"hidden" not in resized(b"", most_side=9, most_bytes=9_000).data
