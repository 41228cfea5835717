"""Valid URLs of people and programs, and PKCE verifiers.

The choice of a feed's icon among a page's icons.
"""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.refused import Refused
from reader.rules.icons import icons_of
from reader.rules.identity import (
    LONGEST_IDENTITY,
    challenge_of,
    client_id_of,
    is_challenge,
    is_on_loopback,
    may_return_to,
    origin_of,
    profile_url,
    proves,
    same_profile,
)

PAGE = "https://tide.example/blog/"
USUAL = "https://tide.example/favicon.ico"


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("example.org", "https://example.org/"),
        (" HTTPS://Example.ORG ", "https://example.org/"),
        ("https://example.org/~Ada", "https://example.org/~Ada"),
        ("https://example.org/?user=ada", "https://example.org/?user=ada"),
    ],
)
def test_an_address_of_a_person_has_one_spelling(typed: str, found: str) -> None:
    assert profile_url(typed) == found


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "nonsense words",
        "ftp://example.org/",
        "javascript://example.org/",
        "mailto:ada@example.org",
        "http://example.org/",
        "https://example.org:8443/",
        "https://192.0.2.1/",
        "https://[2001:db8::1]/",
        "https://ada@example.org/",
        "https://ada:secret@example.org/",
        "https://example.org/#me",
        "https://example.org/#",
        "https://example.org/../ada",
        "https://example.org/./ada",
        "https://exam ple.org/",
        "https://example.org\\@evil.example/",
        "https://evil.example%2f.example.org/",
        "https:///ada",
        "https://example.org:0/",
        "https://example.org:port/",
        f"https://example.org/{'a' * LONGEST_IDENTITY}",
    ],
)
def test_what_stands_for_nobody_is_refused(typed: str) -> None:
    with pytest.raises(Refused):
        profile_url(typed)


def test_a_trial_on_loopback_may_have_ports_and_numbers() -> None:
    assert profile_url("http://127.0.0.1:8000/@ada/", trial=True) == "http://127.0.0.1:8000/@ada/"
    with pytest.raises(Refused):
        profile_url("http://ada@127.0.0.1:8000/", trial=True)


def test_addresses_are_the_same_by_scheme_host_and_empty_path() -> None:
    assert same_profile("https://Example.org", "HTTPS://example.org/")
    assert not same_profile("https://example.org/", "http://example.org/")
    assert not same_profile("https://example.org/Ada", "https://example.org/ada")
    assert not same_profile("https://example.org/", "https://example.org/?x")
    assert not same_profile("https://[broken", "https://[broken")


@pytest.mark.parametrize("client_id", ["https://app.example/", "http://127.0.0.1:3000/app", "http://[::1]/"])
def test_a_client_is_an_address_with_a_path(client_id: str) -> None:
    assert client_id_of(client_id) == client_id
    assert is_on_loopback(client_id) == ("app.example" not in client_id)


@pytest.mark.parametrize(
    "client_id",
    [
        "",
        "app",
        "https://app.example",
        "https://app.example/#x",
        "https://user@app.example/",
        "https://app.example/../",
        "https://192.0.2.7/",
        "https://10.0.0.1/",
        "https://169.254.169.254/",
        "javascript:alert(1)",
        "https://app.example/\nSet-Cookie: x",
    ],
)
def test_a_client_that_is_none_is_refused(client_id: str) -> None:
    with pytest.raises(Refused):
        client_id_of(client_id)


@pytest.mark.parametrize(
    ("redirect_uri", "may"),
    [
        ("https://app.example/back", True),
        ("https://app.example:443/back?a=b", True),
        ("https://other.example/back", True),
        ("app.example.reader:/back", True),
        ("https://other.example/back/", False),
        ("https://other.example/back?x", False),
        ("http://app.example/back", False),
        ("https://app.example:8443/back", False),
        ("https://app.example.evil.example/", False),
        ("https://app.example@evil.example/", False),
        ("https://evil.example\\@app.example/", False),
        ("https://app.example/back#x", False),
        ("https://app.example/ back", False),
        ("javascript:alert(1)", False),
        ("//app.example/back", False),
        ("/back", False),
        ("", False),
    ],
)
def test_a_code_goes_to_the_client_or_where_it_lists_exactly(redirect_uri: str, may: bool) -> None:
    listed = ("https://other.example/back", "app.example.reader:/back", "javascript:alert(1)")
    assert may_return_to(redirect_uri, "https://app.example/", listed) is may


def test_an_origin_is_what_a_browser_compares() -> None:
    assert origin_of("HTTPS://App.example:443/x?y") == "https://app.example"
    assert origin_of("http://[::1]:81/") == "http://[::1]:81"
    assert origin_of("app.reader:/x") == "app.reader:"
    assert origin_of("https://a:port/") is None


@given(st.from_regex(r"[A-Za-z0-9._~-]{43,128}", fullmatch=True), st.text())
def test_only_the_verifier_of_a_challenge_proves_it(verifier: str, other: str) -> None:
    challenge = challenge_of(verifier)
    assert is_challenge(challenge)
    assert proves(verifier, challenge)
    assert other == verifier or not proves(other, challenge)
    in_hex = sha256(verifier.encode()).hexdigest()
    assert is_challenge(in_hex)
    assert proves(verifier, in_hex)
    assert other == verifier or not proves(other, in_hex)


def test_a_challenge_of_the_standard() -> None:
    # RFC 7636, appendix B.
    assert (
        challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )


def test_the_smallest_icon_that_is_large_enough_comes_first() -> None:
    html = """<head><link rel="icon" href="/16.png" sizes="16x16">
    <link rel="icon" href="/32.png" sizes="32x32"><link rel="apple-touch-icon" href="apple.png">
    <LINK REL="shortcut icon" HREF="//cdn.example/96.png" SIZES="96X96">
    <link rel="icon" sizes="192x192" href="/192.png"></head>"""
    assert icons_of(html, PAGE) == [
        "https://cdn.example/96.png",
        "https://tide.example/blog/apple.png",
        "https://tide.example/192.png",
        "https://tide.example/32.png",
        USUAL,
    ]


def test_drawings_other_links_and_texts_are_left_out() -> None:
    html = """<link rel="icon" type="image/svg+xml" href="/a"><link rel="icon" href="/b.svg?c">
    <link rel="mask-icon" href="/mask.png"><link rel="stylesheet" href="/icon"><link rel="icon">
    <link rel="icon" href="data:image/png;base64,AAAA"><script>"<link rel=icon href=/s.png>"</script>"""
    assert icons_of(html, PAGE) == [USUAL]


def test_addresses_are_relative_to_the_base_of_the_page() -> None:
    html = '<base href="https://static.example/x/"><link rel="icon" href="i.png" sizes="any">'
    assert icons_of(html, PAGE) == ["https://static.example/x/i.png", USUAL]


@given(st.text())
def test_no_page_breaks_it(html: str) -> None:
    assert icons_of(html, PAGE)[-1] == USUAL
