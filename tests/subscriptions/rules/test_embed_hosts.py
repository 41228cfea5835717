"""Sites that may embed a form, and valid return URLs."""

from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subscriptions.rules.embed_hosts import MOST_SITES, Address, InvalidSite, allowed, sites, sources, tidy

KEPT = "blog.example.org\n*.example.net\nlocalhost:4000\nxn--bcher-kva.example"
PIECES = st.sampled_from(
    [*"/\\@:?#.%", "//", "https:", "http:", "blog.example.org", "evil.example", "%2f", "\t", "localhost"]
)
TRICKS = [
    "https://evil.example/",
    "https://blog.example.org.evil.example/",
    "https://evil.example/blog.example.org",
    "https://evil.example/?https://blog.example.org/",
    "https://evil.example#https://blog.example.org/",
    "https://blog.example.org@evil.example/",
    "https://blog.example.org:80@evil.example/",
    "https://user:word@blog.example.org/",
    "https://evil.example\\@blog.example.org/",
    "https://evil.example\\.blog.example.org/",
    "https:\\\\evil.example/",
    "//evil.example/",
    "//blog.example.org/",
    "///evil.example/",
    "/\\evil.example/",
    "/thanks",
    "https:/evil.example/",
    "https:evil.example",
    "https:///blog.example.org/",
    "https://blog.example.org:444/",
    "https://blog.example.org:0/",
    "https://blog.example.org%2f.evil.example/",
    "https://blog.example.org%00.evil.example/",
    "https://blog.example.org\uff0f.evil.example/",
    "https://blog.example.org\t.evil.example/",
    "\thttps://blog.example.org/",
    " https://blog.example.org/",
    "https://blog.example.org/\r\nSet-Cookie: a=b",
    "https://blog.example.org/\u2028",
    "https://example.net/",
    "https://notexample.net/",
    "https://localhost/",
    "javascript:alert(1)//blog.example.org/",
    "javascript://blog.example.org/%0aalert(1)",
    "data:text/html,blog.example.org",
    "ftp://blog.example.org/",
    "blog.example.org",
    "https://[::1]/",
    "https://blog.example.org/" + "a" * 2000,
    "null",
    "",
]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("blog.example.org", "blog.example.org"),
        ("  Blog.Example.ORG. ", "blog.example.org"),
        ("https://blog.example.org/about?x=1", "blog.example.org"),
        ("https://blog.example.org:443", "blog.example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("localhost:4000", "localhost:4000"),
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("*.example.org", "*.example.org"),
        ("a.example\n\nb.example\r\na.example", "a.example\nb.example"),
        ("", ""),
    ],
)
def test_sites_are_kept_as_they_stand_in_the_dns(written: str, kept: str) -> None:
    assert tidy(written) == kept
    assert tidy(kept) == kept


@pytest.mark.parametrize(
    "line",
    [
        *("x", "*", "*.*.example.org", "blog.*.org", "a b.org", "user@example.org", "[::1]:80", "0x7f.1"),
        *("ftp://example.org", "javascript:alert(1)", "example.org:99999", "example.org:0", "https://"),
        *("example.org; script-src *", "example.org, example.net", "'self'", "a" * 300 + ".org"),
    ],
)
def test_what_is_no_site_is_refused_with_an_example(line: str) -> None:
    with pytest.raises(InvalidSite, match=r"such as (blog|\*)\.example\.org"):
        tidy(line)


@pytest.mark.parametrize("line", ["*.org", "*.co.uk", "*.github.io", "*.localhost", "*.127.0.0.1"])
def test_a_star_is_never_for_other_peoples_sites(line: str) -> None:
    with pytest.raises(InvalidSite):
        tidy(line)


def test_there_is_a_limit_to_the_sites() -> None:
    lines = [f"site{number}.example.org" for number in range(MOST_SITES + 1)]
    assert tidy("\n".join(lines[:MOST_SITES])).count("\n") == MOST_SITES - 1
    with pytest.raises(InvalidSite, match="At most 20"):
        tidy("\n".join(lines))


@pytest.mark.parametrize(
    ("url", "sent_to"),
    [
        ("https://blog.example.org", "https://blog.example.org/"),
        ("http://BLOG.example.org/thanks?a=1#end", "http://blog.example.org/thanks?a=1#end"),
        ("https://deep.down.example.net/", "https://deep.down.example.net/"),
        ("http://localhost:4000/x", "http://localhost:4000/x"),
        ("https://bücher.example/schön", "https://xn--bcher-kva.example/sch%C3%B6n"),
        ("https://blog.example.org/a%20b", "https://blog.example.org/a%20b"),
    ],
)
def test_an_address_on_a_site_is_followed(url: str, sent_to: str) -> None:
    assert str(allowed(KEPT, url)) == sent_to


@pytest.mark.parametrize("url", TRICKS)
def test_any_other_address_is_not(url: str) -> None:
    assert allowed(KEPT, url) is None


def test_without_sites_nothing_is_allowed() -> None:
    assert allowed("", "https://blog.example.org/") is None


@given(st.lists(PIECES, max_size=12).map("".join))
@example("https://blog.example.org\\@evil.example")
def test_whatever_is_put_together_leads_to_a_site_or_nowhere(url: str) -> None:
    found = allowed(KEPT, url)
    if found is not None:
        parts = urlsplit(str(found))
        assert parts.scheme in ("http", "https")
        assert parts.netloc in ("blog.example.org", "localhost:4000") or parts.netloc.endswith(".example.net")
        assert "\\" not in str(found)
        assert Address.parse(str(found)) == Address.parse(str(Address.parse(str(found))))


def test_an_origin_is_written_as_browsers_write_it() -> None:
    assert [Address.parse(url).origin for url in ("http://a.example:80", "https://a.example:8443/x")] == [  # type: ignore[union-attr]
        "http://a.example",
        "https://a.example:8443",
    ]


def test_a_policy_gets_each_site_and_no_more() -> None:
    assert sources(sites(KEPT))[:3] == [
        "http://blog.example.org",
        "http://*.example.net",
        "http://localhost:4000",
    ]


def test_a_line_that_is_no_site_allows_nothing() -> None:
    assert [str(site) for site in sites("a b\n*\nblog.example.org; script-src *\nblog.example.org")] == [
        "blog.example.org"
    ]
