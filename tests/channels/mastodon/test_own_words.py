"""Statuses with text from a newsletter's hooks."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from channels.http.links import StatusLimits, fits_status
from channels.mastodon.message import Status
from common.truncation import fit_parts
from tests.channels.mastodon.letters import CHANNEL, letter, recipient
from tests.contracts.bridge import LINK

FITS = fits_status(StatusLimits())


def message(text: str, **fields: Any) -> Status:
    of = letter(html="", text=text, **fields)
    made: Status = CHANNEL.composer(of)(recipient()).body
    return made


def status(text: str, **fields: Any) -> str:
    return fit_parts(message(text, **fields).parts, FITS)


def test_lines_stay_and_the_link_stands_where_it_was_put() -> None:
    assert status(f"New:\n\n{LINK}\n#bees") == f"New:\n\n{LINK}\n#bees"


def test_a_text_without_the_link_gets_it_at_the_end() -> None:
    assert status("New today") == f"New today {LINK}"


def test_nobody_is_mentioned() -> None:
    assert "@ada" not in status(f"Thanks to @ada {LINK}")


def test_what_is_too_long_is_cut_outside_the_link() -> None:
    text = status(f"{'before ' * 100}{LINK} {'after ' * 100}")
    assert LINK in text
    assert FITS(text)


@given(st.text(max_size=2000), st.text(max_size=2000))
def test_it_fits_and_the_link_is_whole(before: str, after: str) -> None:
    assert LINK in status(f"x {before} {LINK} {after}")


def test_a_letter_with_html_has_the_usual_words() -> None:
    made = CHANNEL.compose(letter("T", html="<p>x</p>", text="x"), recipient())
    assert fit_parts(made.body.parts, FITS) == f"[bees] New Post: T, by Ada {LINK}"


def test_a_digest_and_a_letter_whose_texts_were_forgotten_have_the_usual_words() -> None:
    assert status("", title="T").startswith("[bees] New Post: T")
    assert status("Mine", title="All posts", is_digest=True, web_url=LINK).startswith("[bees] All posts")
