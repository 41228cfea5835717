"""The browser's pages on several screens."""

from collections.abc import Iterator
from typing import Any

import pytest

from common.shutdown import stopping
from reader.streams import stream
from tests.e2e.browser.screens import DAY, NIGHT, OTHERS, Screen, Seen
from tests.e2e.processes import until
from tests.examples import NIGHTLY

SCREENS = [NIGHT, pytest.param(DAY, marks=NIGHTLY), *(pytest.param(other, marks=NIGHTLY) for other in OTHERS)]


@pytest.fixture(params=SCREENS, ids=str)
def screen(request: pytest.FixtureRequest) -> Screen:
    """Return a screen. The parameters cover every pair of width, colour scheme and scripts on or off.

    `make test` uses one of them, a phone at night; the slow tests add its opposite.
    """
    chosen: Screen = request.param
    return chosen


@pytest.fixture
def page(browser: Any, screen: Screen) -> Iterator[Any]:
    """Open an empty page. The test fails if the browser logs an error of a script or the policy."""
    context = browser.new_context(**screen.options)
    context.set_default_timeout(10_000)
    seen = Seen()
    opened = seen.watched(context.new_page())
    opened.is_plain = not screen.scripts
    yield opened
    context.close()
    # Otherwise the server's thread would outlive the test.
    stopping.set()
    until(lambda: not stream._open, "the end of all streams")
    stopping.clear()
    assert not seen.complaints, seen.complaints


@pytest.fixture
def site(live_urls: str) -> str:
    return live_urls
