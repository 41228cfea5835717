"""The checks of all pages find the faults that they look for."""

from typing import Any

import pytest

from tests.e2e.browser.screens import assert_accessible, assert_fits, assert_tappable

pytestmark = pytest.mark.browser

FAULTS = {
    "a field without a name": (assert_accessible, "<input name=q>"),
    "grey on grey": (assert_accessible, '<p style="color:#999;background:#aaa">Who can read this?</p>'),
    "a level left out": (assert_accessible, "<h1>One</h1><h3>Three</h3>"),
    "too wide": (assert_fits, '<p style="width: 330px">Wide</p>'),
    "too low": (assert_tappable, '<a class="button" style="display: block; height: 30px">Tap</a>'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(page: Any, fault: str) -> None:
    check, html = FAULTS[fault]
    # With a script, because axe skips pages without one on screens without scripts.
    start = '<!doctype html><html lang="en"><title>Page</title>'
    page.route(
        "**/*",
        lambda route: route.fulfill(
            body=f"{start}<main>{html}<script></script></main>", content_type="text/html"
        ),
    )
    page.goto("http://127.0.0.1/")
    with pytest.raises(AssertionError):
        check(page)
