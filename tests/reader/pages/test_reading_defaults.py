"""A reader's default view, and the read-later service."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from reader.models import Channel, Reader
from reader.rules.saving import EXAMPLES, is_template, save_address
from tests.reader.posts import an_entry, minutes, put

SERVICE = "https://keep.example/add?url={url}&title={title}"


def titles(page: str) -> list[str]:
    return [name for name in ("First", "Second", "Third") if name in page]


@pytest.mark.django_db
def test_the_choice_is_kept_and_an_address_can_say_otherwise(
    ada: Reader, home: Channel, web: Callable[[Reader], Client]
) -> None:
    for number, (name, is_unread) in enumerate([("First", True), ("Second", False), ("Third", True)]):
        entry = an_entry(jf2={"type": "entry", "name": name})
        put(home, entry, at=minutes(number), is_unread=is_unread)
    browser = web(ada)
    saved = browser.post("/reader/account/", {"act": "reading", "unread_only": "on", "oldest_first": "on"})
    assert saved.headers["Location"].endswith("?changed=reading#reading")

    def page(query: str = "") -> str:
        return browser.get(f"/reader/c/home/{query}").content.decode()

    usual = page()
    assert titles(usual) == ["First", "Third"]
    assert usual.index("First") < usual.index("Third")
    assert titles(page("?all")) == ["First", "Second", "Third"]
    newest = page("?newest&all")
    assert newest.index("Third") < newest.index("First")
    assert 'href="?oldest&amp;all"' in usual
    assert 'href="?newest&amp;unread"' in usual


@pytest.mark.django_db
def test_a_post_is_saved_at_the_readers_service(
    ada: Reader, bob: Reader, home: Channel, web: Callable[[Reader], Client]
) -> None:
    entry = an_entry(jf2={"type": "entry", "name": "Tide & time", "url": "https://tide.example/?a=1&b=2"})
    put(home, entry)
    browser = web(ada)
    assert browser.get(f"/reader/post/{entry.pk}/save/").status_code == 404
    assert "data-save" not in browser.get("/reader/").content.decode()
    browser.post("/reader/account/", {"act": "reading", "save_template": SERVICE})
    page = browser.get(f"/reader/post/{entry.pk}/").content.decode()
    assert "Save to keep.example" in page
    assert 'rel="noopener noreferrer" data-save' in page
    asked = urlsplit(browser.get(f"/reader/post/{entry.pk}/save/").headers["Location"])
    assert (asked.hostname, parse_qs(asked.query)) == (
        "keep.example",
        {"url": ["https://tide.example/?a=1&b=2"], "title": ["Tide & time"]},
    )
    assert web(bob).get(f"/reader/post/{entry.pk}/save/").status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    "template", ["javascript:alert({url})", "http://keep.example/{url}", "https://a.example/"]
)
def test_an_address_that_is_none_is_refused_with_a_sentence(
    ada: Reader, web: Callable[[Reader], Client], template: str
) -> None:
    answer = web(ada).post("/reader/account/", {"act": "reading", "save_template": template})
    assert answer.status_code == 400
    assert "starts with https://" in answer.content.decode()


@pytest.mark.parametrize("template", [*EXAMPLES, "http://localhost:8080/?u={url}"])
def test_known_services_are_accepted(template: str) -> None:
    assert is_template(template)


@pytest.mark.parametrize(
    "template", ["https://{url}/", "https://a.{title}/?{url}", "//a/{url}", "https://[/{url}"]
)
def test_a_post_never_chooses_the_host(template: str) -> None:
    assert not is_template(template)


@given(st.text(), st.text())
def test_a_post_cannot_change_the_services_address(url: str, title: str) -> None:
    parts = urlsplit(save_address(SERVICE, url=url, title=title))
    assert (parts.scheme, parts.netloc, parts.path, parts.fragment) == ("https", "keep.example", "/add", "")
    assert parse_qs(parts.query, keep_blank_values=True) == {"url": [url], "title": [title[:300]]}
