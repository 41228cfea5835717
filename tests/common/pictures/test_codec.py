"""Uploaded pictures: decoded, limited, and encoded anew without metadata."""

import io
import struct
import zlib
from typing import Any

import pytest
from PIL import Image, PngImagePlugin

from common.pictures.codec import clean_picture
from common.pictures.picture import MOST_CODED_BYTES, BadPicture, CleanPicture
from tests.pictures import drawn, octets_of

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'


def cleaned(octets: bytes, **options: Any) -> CleanPicture:
    return clean_picture(io.BytesIO(octets), **options)


def opened(picture: CleanPicture) -> Image.Image:
    image = Image.open(io.BytesIO(picture.data))
    image.load()
    return image


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_each_kind_becomes_one_that_every_mail_program_shows(kind: str) -> None:
    picture = cleaned(octets_of(drawn(300, 100), kind))
    assert (picture.width, picture.height) == (300, 100)
    assert opened(picture).format in ("PNG", "JPEG")
    assert picture.name.endswith(".png" if picture.media_type == "image/png" else ".jpg")
    assert cleaned(picture.data).media_type == picture.media_type


def test_the_name_is_that_of_what_is_in_it() -> None:
    blue, again, red = (cleaned(octets_of(drawn(8, 8, colour))) for colour in ("blue", "blue", "red"))
    assert blue == again
    assert blue.name != red.name


def test_nothing_that_came_with_the_picture_stays() -> None:
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    exif[0x8825] = {1: "N"}
    secret = b"a secret place"
    words = PngImagePlugin.PngInfo()
    words.add_text("Comment", "a secret place")
    photo = octets_of(
        drawn(60, 40), "JPEG", exif=exif, comment=b"a secret place", icc_profile=b"a secret place"
    )
    mark = octets_of(drawn(60, 40), "PNG", pnginfo=words, exif=exif)
    for octets in (photo, mark, mark + secret):
        assert b"secret" in octets
        picture = cleaned(octets)
        assert b"secret" not in picture.data
        assert not opened(picture).getexif()
        assert "icc_profile" not in opened(picture).info


def test_a_photograph_stands_upright_and_is_small() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    noise = Image.effect_noise((1600, 1200), 60).convert("RGB")
    picture = cleaned(octets_of(noise, "JPEG", exif=exif, quality=95))
    assert (picture.width, picture.height) == (828, 1104)
    assert picture.media_type == "image/jpeg"


def test_transparent_parts_stay_transparent() -> None:
    image = Image.new("RGBA", (40, 20), (0, 0, 0, 0))
    image.putpixel((3, 3), (200, 0, 0, 255))
    for kind in ("PNG", "WEBP"):
        found = opened(cleaned(octets_of(image, kind, lossless=True))).convert("RGBA")
        assert found.getpixel((0, 0))[3] == 0  # type: ignore[index]
        assert found.getpixel((3, 3)) == (200, 0, 0, 255)


def a_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_that_says(width: int, height: int) -> bytes:
    head = a_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + a_chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + a_chunk(b"IEND", b"")


REFUSED = {
    "nothing": (b"", "cannot be read"),
    "words": (b"hello", "cannot be read"),
    "a page": (b"<html><script>alert(1)</script>", "cannot be read"),
    "a drawing that may run": (SVG, "cannot be read"),
    "a kind that is not asked for": (octets_of(drawn(9, 9), "BMP"), "cannot be read"),
    "one that breaks off": (octets_of(drawn(200, 200), "JPEG")[:-400], "cannot be read"),
    "one that lies about its size": (png_that_says(900, 900), "cannot be read"),
    "one that would fill the memory": (png_that_says(30_000, 30_000), "million pixels"),
    "one that would fill it all at once": (png_that_says(5_000, 5_000), "25 million pixels"),
    "a large file": (b"\xff" * (MOST_CODED_BYTES + 1), "more than 8 MB"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_picture_or_too_large_is_refused_with_a_sentence(case: str) -> None:
    octets, said = REFUSED[case]
    with pytest.raises(BadPicture, match=said):
        cleaned(octets)


def test_what_would_look_blurred_is_refused() -> None:
    with pytest.raises(BadPicture, match="300 pixels wide"):
        cleaned(octets_of(drawn(300, 100)), least_width=552)
