"""Secrets among the fields of destinations: accepted, and never shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous
from channels.fields import posting_url
from channels.http.client import masked, secrets_in
from common.ports import channels

URL = "https://hooks.example/services/T0000/B0000/very-secret-token?key=another-secret"


@pytest.mark.parametrize(
    "said",
    [URL, "/services/T0000/B0000/very-secret-token", "no very-secret-token here", "key=another-secret"],
)
def test_no_part_of_it_is_shown(said: str) -> None:
    outcome = masked(Ambiguous(f"The server said: {said}"), secrets_in(URL))
    assert isinstance(outcome, Ambiguous)
    shown = outcome.text
    assert "secret" not in shown
    assert shown.startswith("The server said: ")


def test_words_that_are_no_secret_are_shown() -> None:
    said = "hooks.example knows no services"
    assert masked(Ambiguous(said), secrets_in(URL)) == Ambiguous(said)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("https://Hooks.Example:443/a/B?c=D", "https://hooks.example/a/B?c=D"),
        ("http://127.0.0.1:8065/hooks/x", "http://127.0.0.1:8065/hooks/x"),
    ],
)
def test_only_the_host_is_made_the_same(typed: str, kept: str) -> None:
    assert posting_url("hooks.example")(typed) == kept


@given(st.text(max_size=100))
def test_what_is_no_address_is_refused_without_repeating_it(typed: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"^this isn’t an address to post to\. Use an address like https://hooks\.example/\.$",
    ):
        posting_url("hooks.example")(f"ftp:{typed}")


def test_a_field_of_one_name_is_as_secret_with_every_channel() -> None:
    """Commands have one option for all of them, and prompt for the secret ones."""
    secrets: dict[str, bool] = {}
    for kind in channels.all_kinds():
        for field in kind.destination_fields:
            assert secrets.setdefault(field.name, field.secret) is field.secret, (kind.key, field.name)
