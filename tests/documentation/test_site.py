"""`make docs` builds a site without a warning that asks no other server for anything."""

import re
import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

from tests.documentation.site import PAGES, ROOT, build


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="run `make docs` first")
    return build(tmp_path_factory.mktemp("docs"))


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, str]:
    return {page: page.read_text(encoding="utf-8") for page in site.rglob("index.html")}


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    files = [path for name in PAGES for path in [ROOT / name, *(ROOT / name).rglob("*.md")]]
    there = {path.relative_to(ROOT).as_posix() for path in files if path.suffix == ".md"}
    assert set(re.findall(r'"([\w/-]+\.md)"', str(tomllib.loads(menu)).replace("'", '"'))) == there


def test_every_link_leads_to_a_file_and_a_heading_of_the_site(site: Path, pages: dict[Path, str]) -> None:
    anchors = {page: set(re.findall(r' id="([^"]+)"', text)) for page, text in pages.items()}
    broken = []
    for page, text in pages.items():
        for link in re.findall(r'<a [^>]*?href="(?![a-z]+:)([^"]*)"', text):
            place, anchor = urldefrag(unquote(link))
            target = (page.parent / place).resolve() if place else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and anchor not in anchors[target]):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert not broken


def test_no_page_loads_anything_from_another_server(pages: dict[Path, str]) -> None:
    loaded = r'<(?:link|script|img|iframe|source)[^>]* (?:href|src|srcset)="((?:https?:)?//[^"]*)"'
    assert [address for text in pages.values() for address in re.findall(loaded, text)] == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=site)) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.browser
@pytest.mark.slow
def test_its_search_finds_a_page_from_a_plain_web_server(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(10_000)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="networkidle")
    page.keyboard.press("Control+k")
    page.locator("dialog input").fill("warm-up")
    page.locator("dialog").get_by_text("Sending limits").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}docs/sending/**")
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "docs/reference/settings/", "docs/sending/", "docs/architecture/"])
def test_no_page_is_wider_than_a_phone(browser: Any, address: str, name: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(address + name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
