"""Authors are named, each once, and without their mail addresses."""

import json

import pytest

from feeds.parsing.document import parse
from feeds.parsing.entry import Entry
from feeds.parsing.people import author_names, mailboxes


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ada@example.com (Ada Lee)", ["Ada Lee"]),
        ("noreply@blogger.com (Ada Lee)", ["Ada Lee"]),
        ("Ada Lee <ada@example.com>", ["Ada Lee"]),
        ("Ada Lee &lt;ada@example.com&gt;", ["Ada Lee"]),
        ("Ada Lee (ada@example.com)", ["Ada Lee"]),
        ("Ada Lee, ada@example.com", ["Ada Lee"]),
        ("ada@example.com Ada Lee", ["Ada Lee"]),
        ("ada@example.com", []),
        ("<mailto:ada@example.com>", []),
        ("ada@example.com.", []),
        ("ada@bücher.example, root@localhost", []),
        ("ada@example.com (Ada Lee (she/her))", ["Ada Lee (she/her)"]),
        ("a@example.com (Ada), b@example.com (Bob)", ["Ada", "Bob"]),
        ('"Lee, Ada" <a@example.com> and Bob <b@example.com>; Cy', ["Lee, Ada", "Bob", "Cy"]),
        ("Ada Lee and Bob Roe", ["Ada Lee and Bob Roe"]),
        ("@ada@social.example", ["@ada@social.example"]),
        ("Team @ Work", ["Team @ Work"]),
        ("", []),
    ],
)
def test_an_author_is_a_name_without_an_address(text: str, names: list[str]) -> None:
    assert list(author_names([text])) == names
    assert all("@" in address for _, address in mailboxes(text) if address)


def test_one_person_is_named_once() -> None:
    assert author_names(["Ada Lee", "ada@example.com (Ada Lee)", "ADA LEE", "ada@example.com"]) == (
        "Ada Lee",
    )


def test_a_text_full_of_brackets_and_signs_costs_no_more_than_its_length() -> None:
    for text in ("a@" * 100_000, "(" * 100_000 + "@", "a@b.example(" * 10_000):
        mailboxes(text)


def entry_of(document: str) -> Entry:
    (entry,) = parse(document.encode(), content_type="", url="https://blog.example/feed").entries
    return entry


def test_no_format_prints_an_address() -> None:
    rss = (
        "<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><title>t</title><item>"
        "<guid>1</guid>{}</item></channel></rss>"
    )
    twice = "<dc:creator>Ada Lee</dc:creator><author>ada@example.com</author>"
    assert entry_of(rss.format(twice)).authors == ("Ada Lee",)
    several = "<author>a@example.com (Ada), b@example.com (Bob)</author>"
    entry = entry_of(rss.format(several))
    assert entry.authors == ("Ada", "Bob")
    assert [person.name for person in entry.social.people] == ["Ada", "Bob"]
    atom = (
        "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>f</title><entry><id>1</id>"
        "<author><name>ada@example.com (Ada)</name><email>ada@example.com</email></author>"
        "<author><email>b@example.com</email></author></entry></feed>"
    )
    assert entry_of(atom).authors == ("Ada",)
    people = [{"name": "Ada <ada@example.com>"}, {"url": "mailto:b@example.com"}]
    items = [{"id": "1", "content_text": "x", "authors": people}]
    entry = entry_of(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}))
    assert entry.authors == ("Ada",)
    assert [person.name for person in entry.social.people] == ["Ada"]
    page = (
        '<div class="h-entry"><a class="u-url" href="/1">x</a><p class="p-name">T</p>'
        '<span class="p-author h-card">ada@example.com (Ada)</span></div>'
    )
    assert entry_of(page).authors == ("Ada",)
