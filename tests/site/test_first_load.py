"""Files of a first page of the admin."""

import re
from gzip import decompress

import pytest
from django.test import Client
from fontTools.ttLib import TTFont

from tests.site.icon_font import EVERY, OURS, icons, words


def test_every_icon_that_may_be_used_is_in_our_font() -> None:
    missing = words() & icons(TTFont(EVERY)).keys() - icons(TTFont(OURS)).keys()
    assert not missing, "run `python -m tests.site.icon_font`"


@pytest.mark.django_db
def test_a_first_page_of_the_admin_is_small(admin_client: Client) -> None:
    """Without pictures, with all that a browser loads for it, as a clone serves it."""
    gzip = {"Accept-Encoding": "gzip"}
    page = admin_client.get("/admin/", headers=gzip)
    assert page["Content-Encoding"] == "gzip"
    html = decompress(page.content).decode()
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"', html))
    sizes = [len(b"".join(admin_client.get(file, headers=gzip))) for file in files]
    assert len(sizes) > 10
    assert sum(sizes) + len(page.content) + OURS.stat().st_size < 300_000


@pytest.mark.django_db
def test_a_part_of_a_file_is_not_compressed(client: Client) -> None:
    asked = {"Accept-Encoding": "gzip", "Range": "bytes=0-499"}
    part = client.get("/static/feedletter/admin.css", headers=asked)
    assert (part.status_code, part["Content-Length"]) == (206, "500")
    assert "Content-Encoding" not in part
