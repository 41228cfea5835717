"""The name of an unnamed site, and the size of its logo."""

import pytest

from subscriptions.rules.site import NAMELESS, logo_size, usual_name


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("letters.example.org", "letters.example.org"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("xn--.example", "xn--.example"),
        ("127.0.0.1", NAMELESS),
        ("192.0.2.7", NAMELESS),
        ("[2001:db8::1]", NAMELESS),
        ("2001:db8::1", NAMELESS),
        ("localhost", NAMELESS),
    ],
)
def test_a_site_is_called_by_its_domain_and_never_by_a_number(host: str, name: str) -> None:
    assert usual_name(host) == name


def test_a_logo_is_shown_at_half_its_size_at_most() -> None:
    assert logo_size(200, 60) == (100, 30)
    assert logo_size(1104, 200) == (240, 43)
    assert logo_size(1104, 1104) == (48, 48)
    assert logo_size(1, 1104) == (1, 48)
