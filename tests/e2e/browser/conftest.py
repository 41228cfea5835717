"""One browser for all these tests, and pages as different readers have them."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from common.shutdown import stopping
from reader.streams import stream
from subscriptions.subscribers import antispam
from tests.e2e.browser.screens import DAY, NIGHT, OTHERS, Screen, Seen
from tests.e2e.conftest import chromium
from tests.e2e.processes import until


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    yield from chromium()


SCREENS = [
    NIGHT,
    pytest.param(DAY, marks=pytest.mark.later),
    *(pytest.param(other, marks=pytest.mark.nightly) for other in OTHERS),
]


@pytest.fixture(params=SCREENS, ids=str)
def screen(request: pytest.FixtureRequest) -> Screen:
    """Wide or narrow, by day or by night, with scripts or without: each pair of these is among all of them.

    `make test` looks at one of them, which is a phone's at night; the slow tests have the opposite, too.
    """
    chosen: Screen = request.param
    return chosen


@pytest.fixture
def page(browser: Any, screen: Screen) -> Iterator[Any]:
    """An empty page of that screen. The test fails if the browser complained: of a script, of the policy."""
    context = browser.new_context(**screen.options)
    context.set_default_timeout(10_000)
    seen = Seen()
    opened = seen.watched(context.new_page())
    opened.is_plain = not screen.scripts
    yield opened
    context.close()
    # Such a thread of the server would go on after the test.
    stopping.set()
    until(lambda: not stream._open, "the end of all streams")
    stopping.clear()
    assert not seen.complaints, seen.complaints


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that is driven types faster than people, and would be asked a question each time."""
    cache.clear()
    monkeypatch.setattr(antispam, "QUICKEST", antispam.QUICKEST * 0)


@pytest.fixture
def site(live_urls: str) -> str:
    """The address of the site, to which its own links lead as well."""
    return live_urls
