"""Where a mailbox is read on the web."""

import pytest

from subscriptions.rules.sign_up import _PLACES, webmail_of


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("ada@gmail.com", "Gmail"),
        ("Ada <ada@GMX.de>", "GMX"),
        ("ada@hotmail.co.uk", "Outlook"),
        ("ada@example.org", ""),
        ("ada@notgmail.com", ""),
        ("nothing", ""),
    ],
)
def test_the_place_is_that_of_the_domain(address: str, name: str) -> None:
    found = webmail_of(address)
    assert (found["name"] if found else "") == name


def test_all_places_are_encrypted_and_no_domain_is_in_two() -> None:
    domains = [domain for _, _, listed in _PLACES for domain in listed.split()]
    assert len(domains) == len(set(domains))
    assert all(url.startswith("https://") for _, url, _ in _PLACES)
