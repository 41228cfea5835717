"""Response times of the demo's admin pages, one request at a time, and how many words people see."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import requests
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright

from bench.ledger import figure
from bench.web import PATIENCE_SECONDS, site
from demo.environment import environment
from tests.services import program

ROUNDS, WANTED_MS, SLOWEST, MOST_PAGES = 5, 300.0, 10, 200
ROOT = Path(__file__).parent.parent
# Parameters that choose a page; others filter or sort it.
CHOOSING = ("tab", "what")
MOST_WORDS = {"": 200, "feeds/item/": 350, "subscriptions/subscription/": 350, "feeds/feed/1/change/": 350}
MOST_IN_A_CELL = 12
COUNT = """() => {
    const count = (part) => part.innerText.split(/\\s+/).filter(Boolean).length;
    // Icons are named by words.
    const icons = (part) => [...part.querySelectorAll(".material-symbols-outlined")].map(count);
    const words = (part) => icons(part).reduce((left, icon) => left - icon, count(part));
    return [words(document.body), Math.max(0, ...[...document.querySelectorAll("td")].map(words))];
}"""


def pages() -> list[dict[str, object]]:
    with demo_site() as (session, url):
        took = dict(answered(session, url))
        seen = dict(words(session, url, [*MOST_WORDS, *(path for path in took if path.count("/") == 2)]))
    wordy = max(seen, key=lambda path: seen[path][1])
    times = sorted(took.values())
    slowest = sorted(took.items(), key=lambda page: page[1], reverse=True)[:SLOWEST]
    return [
        figure(f"{len(times)} admin pages, median", median(times), WANTED_MS),
        figure("  95 % of them in", quantiles(times, n=20)[-1], WANTED_MS),
        *(figure(f"  /admin/{path}", ms, WANTED_MS) for path, ms in slowest),
        *(figure(f"words of /admin/{path}", seen[path][0], most) for path, most in MOST_WORDS.items()),
        figure(f"words of the longest cell, /admin/{wordy}", seen[wordy][1], MOST_IN_A_CELL),
    ]


def words(session: requests.Session, url: str, paths: list[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the visible words of each page, and of its longest cell."""
    cookies: Any = [{"name": each.name, "value": each.value, "url": url} for each in session.cookies]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program("chromium-headless-shell", "chromium"))
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies(cookies)
        page = context.new_page()
        for path in paths:
            page.goto(url + path)
            yield path, tuple(page.evaluate(COUNT))
        browser.close()


@contextmanager
def demo_site() -> Iterator[tuple[requests.Session, str]]:
    """Replay the demo and serve its site; yield a session of its admin, and the overview's URL."""
    with tempfile.TemporaryDirectory(prefix="feedletter-bench-") as name:
        folder = Path(name) / "demo"
        own = environment(folder, os.environ) | {
            "DATABASE_URL": f"sqlite:///{folder}/demo.db",
            "SECRET_KEY": os.environ["SECRET_KEY"],
            "DEMO_EXIT": "1",
        }
        command = [sys.executable, "manage.py", "demo", "--json"]
        done = subprocess.run(command, cwd=ROOT, env=own, check=True, stdout=subprocess.PIPE)
        sign_in = urlsplit(json.loads(done.stdout)["urls"]["admin"]).path
        with site(**own) as port, requests.Session() as session:
            answer = session.get(f"http://127.0.0.1:{port}{sign_in}", timeout=PATIENCE_SECONDS)
            answer.raise_for_status()
            yield session, f"http://127.0.0.1:{port}/admin/"


def answered(session: requests.Session, start: str) -> Iterator[tuple[str, float]]:
    """Follow links from the overview; yield a path and its median in milliseconds for each kind of page."""
    waiting, kinds = [start], {kind(start)}
    for url in waiting:
        answers = [session.get(url, timeout=PATIENCE_SECONDS, allow_redirects=False) for _ in range(ROUNDS)]
        if answers[0].status_code != 200 or "text/html" not in answers[0].headers["Content-Type"]:
            continue
        yield url.removeprefix(start), median(answer.elapsed.total_seconds() for answer in answers) * 1000
        for link in BeautifulSoup(answers[0].text, "html.parser").select("a[href]"):
            found = urljoin(url, str(link["href"])).partition("#")[0]
            if found.startswith(start) and kind(found) not in kinds and len(kinds) < MOST_PAGES:
                kinds.add(kind(found))
                waiting.append(found)


def kind(url: str) -> tuple[str, ...]:
    """Return the same for pages of one kind, such as two feeds."""
    parts = urlsplit(url)
    chosen = parse_qs(parts.query)
    return re.sub(r"/\d+/", "/1/", parts.path), *(str(chosen.get(name)) for name in CHOOSING)
