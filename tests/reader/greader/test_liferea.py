"""Debian's Liferea shows the posts of a reader."""

import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from common.clock import utcnow
from reader.people.readers import add_reader
from reader.people.tokens import make_app_password
from tests.factories import FeedFactory
from tests.reader.posts import an_entry, put

NEEDED = ("liferea", "xvfb-run", "dbus-run-session")
PATIENCE = 90.0
TITLES = [f"Post {number} of the harbour" for number in range(30)]


@contextmanager
def liferea(folder: Path, server: str, password: str) -> Iterator[Path]:
    """Run Liferea on a virtual screen, signed in as ada; yield its database."""
    config = folder / ".config" / "liferea"
    config.mkdir(parents=True)
    outline = (
        f'<outline title="Here" text="Here" type="source" sourceType="fl_google_reader" id="here" '
        f'xmlUrl={quoteattr(server)} username="ada" password={quoteattr(password)} updateInterval="-1" '
        f'expanded="true"/>'
    )
    (config / "feedlist.opml").write_text(f'<opml version="1.0"><head/><body>{outline}</body></opml>')
    environment = {**os.environ, "HOME": str(folder), "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1"}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "http_proxy", "HTTP_PROXY"):
        environment.pop(name, None)
    command = ["dbus-run-session", "--", "xvfb-run", "-a", "liferea", "--disable-plugins"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
        try:
            yield folder / ".local" / "share" / "liferea" / "liferea.db"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def titles_in(database: Path) -> set[str]:
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as rows:
        return {title for (title,) in rows.execute("SELECT title FROM items")}
    return set()


def until(found: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not found():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


@pytest.mark.slow
@pytest.mark.skipif(
    any(shutil.which(name) is None for name in NEEDED), reason="Liferea or a virtual screen is missing."
)
@pytest.mark.django_db(transaction=True)
def test_liferea_shows_the_posts(live_server: Any, tmp_path: Path) -> None:
    now = utcnow()
    reader = add_reader(name="ada", now=now)
    home = reader.channels.get(uid="home")
    feed = FeedFactory(title="Blog")
    home.follows.create(feed=feed)
    for number, title in enumerate(TITLES):
        jf2 = {"type": "entry", "name": title, "url": f"https://tide.example/{number}"}
        put(home, an_entry(feed=feed, jf2=jf2), at=now - timedelta(minutes=number))
    password = make_app_password(reader=reader, app="Liferea", now=now)[1]
    with liferea(tmp_path, f"{live_server.url}/api/greader.php", password) as database:
        complete = until(lambda: set(TITLES) <= titles_in(database))
        assert complete, (sorted(titles_in(database)), (tmp_path / "log").read_text()[-2000:])
