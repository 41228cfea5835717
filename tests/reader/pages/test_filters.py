"""The pages of filters: preview, save, and messages about failing ones."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from reader.models import Channel, Entry, Reader
from tests.factories import FeedFactory
from tests.reader.channels.test_filters import a_post, filtered, names
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
PAGE = "/reader/c/home/filters/"


@pytest.fixture
def browser(web: Callable[[Reader], Client], ada: Reader, home: Channel) -> Client:
    put(home, a_post("The sea", kind="article"))
    put(home, a_post("A heart", kind="like"), at=minutes(1))
    put(home, a_post("The town", kind="article"), at=minutes(2))
    return web(ada)


def test_a_look_says_which_posts_would_be_hidden_and_why(browser: Client, home: Channel) -> None:
    given = {"act": "look", "kinds": ["like"], "hide": "sea\n\n", "keep": ""}
    page = browser.post(PAGE, given).content.decode()
    assert "Of the newest 3, these filters hide 2. Nothing is saved yet." in " ".join(page.split())
    assert "hidden: Liked posts" in page
    assert "hidden: it has “sea”" in page
    assert 'value="like" checked' in page
    assert len(names(home)) == 3


def test_what_is_saved_holds_at_once_and_is_taken_back(browser: Client, home: Channel) -> None:
    browser.post(PAGE, {"act": "save", "keep": "/town|sea/"})
    assert names(home) == ["The town", "The sea"]
    assert "A heart" not in browser.get("/reader/c/home/").content.decode()
    assert "/town|sea/" in browser.get(PAGE).content.decode()
    assert "hidden: it matches nothing that should be shown" in browser.get(PAGE).content.decode()
    browser.post(PAGE, {"act": "save"})
    assert len(names(home)) == 3


def test_what_cannot_be_used_is_said_and_stays_typed(browser: Client, home: Channel) -> None:
    answer = browser.post(PAGE, {"act": "save", "hide": "/(/", "keep": "sea"})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "It is no regular expression" in page
    assert ">/(/</textarea>" in page
    assert len(names(home)) == 3


def test_an_empty_page_says_that_filters_made_it_so(browser: Client, home: Channel) -> None:
    filtered(home, keep=["nothing of this"])
    assert "hide all 3 of its posts" in browser.get("/reader/c/home/").content.decode()
    Channel.objects.update(filters_trouble="/slow/")
    assert "/slow/" in browser.get(PAGE).content.decode()


def test_nobody_else_looks_or_changes(web: Callable[[Reader], Client], bob: Reader, ada: Reader) -> None:
    ada.channels.create(uid="hers", name="Hers")
    for act in ("look", "save"):
        assert web(bob).post("/reader/c/hers/filters/", {"act": act, "hide": "x"}).status_code == 404
    assert web(bob).get("/reader/c/hers/filters/").status_code == 404
    assert web(ada).get("/reader/c/notifications/filters/").status_code == 404
    assert not Channel.objects.filter(filters__isnull=False).exists()


def test_an_author_without_an_address_is_hidden_by_a_filter_that_is_looked_at_first(
    ada: Reader, home: Channel, web: Callable[[Reader], Client]
) -> None:
    feed = FeedFactory(title="The Paper")
    for name in ("Ada B. (she)", "Bo"):
        author = {"name": name, "url": feed.site_url}
        entry = an_entry(feed=feed, jf2={"type": "entry", "name": f"By {name}", "author": author})
        place = put(home, entry)
    browser = web(ada)
    (first,) = Entry.objects.exclude(pk=place.entry_id)
    page = browser.get(f"/reader/post/{first.pk}/").content.decode()
    link = re.search(r'href="(/reader/c/home/filters/\?hide=[^"#]+)', page)
    assert link
    assert "Hide posts of Ada B. (she) in Home" in page
    looked = browser.get(link[1]).content.decode()
    assert "these filters hide 1" in looked
    assert Channel.objects.get(pk=home.pk).filters is None, "nothing is changed by a link"


@pytest.mark.parametrize(
    ("hide", "says"),
    [
        ("\n".join(map(str, range(51))), "Geben Sie höchstens 50 Zeilen ein."),
        ("x" * 201, "Eine Zeile darf höchstens 200 Zeichen haben."),
        ("/(/", 'Diese Filter können nicht verwendet werden. <span lang="en">/(/: '),
    ],
)
def test_why_filters_are_refused_is_in_the_readers_language_or_marked_as_english(
    browser: Client, hide: str, says: str
) -> None:
    answer = browser.post(PAGE, {"act": "look", "hide": hide}, headers={"accept-language": "de"})
    assert answer.status_code == 400
    assert says in answer.content.decode()
