"""The message to admins about a response without a feed."""

import pytest

from feeds.polling.read import why_unread


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "does not let us read this feed (HTTP 401)"),
        (403, "does not let us read this feed (HTTP 403)"),
        (404, "nothing at this address (HTTP 404)"),
        (405, "answered with an error (HTTP 405)"),
        (410, "gone for good (HTTP 410)"),
        (429, "we ask too often (HTTP 429)"),
        (500, "answered with an error (HTTP 500)"),
        (503, "answered with an error (HTTP 503)"),
    ],
)
def test_each_status_says_what_it_means_for_the_feed(status: int, words: str) -> None:
    assert words in why_unread(status)
