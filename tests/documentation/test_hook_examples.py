"""The modules of docs/hooks.md, run unchanged."""

import inspect
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from channels.letter import Recipient
from channels.mastodon.bridge import MastodonBridge
from common.ports.hooks import HOOK_KINDS, load
from delivery.issues.complete import complete_due
from delivery.issues.own_code import recipient_params
from delivery.letters.build import issue_letter
from delivery.models import Issue
from feeds.models import Item
from feeds.parsing.entry import Entry
from feeds.polling.read import clean_entry
from subscriptions import hooks as public
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect
from tests.factories import NOW, BridgeFactory, FeedFactory

pytestmark = pytest.mark.django_db
DOCS = Path(django_settings.BASE_DIR) / "docs"
EXAMPLES = sorted((DOCS / "examples" / "hooks").glob("*.py"))
FILM = '<iframe width="560" src="https://www.youtube.com/embed/dQw4w9WgXcQ" title="A film of bees"></iframe>'
MAP = '<iframe src="https://maps.example/?at=hive"></iframe>'


@pytest.fixture(autouse=True)
def _examples(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "examples" / "hooks"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    settings.HOOK_MODULES = [path.stem for path in EXAMPLES]


def post(item: Item, **changes: Any) -> None:
    """Replace a collected item's content, cleaned as a poll cleans it."""
    assert item.entry is not None
    entry = clean_entry(replace(Entry.from_json(item.entry), **changes), "https://blog.example/feed.xml")
    Item.objects.filter(pk=item.pk).update(entry=entry.to_json())


def test_the_document_links_to_all_modules() -> None:
    shown = (DOCS / "hooks.md").read_text(encoding="utf-8")
    for path in EXAMPLES:
        assert f"](examples/hooks/{path.name})" in shown


def test_every_kind_is_shown_and_may_be_called() -> None:
    assert set(load("every_kind").functions) == set(HOOK_KINDS)
    shown = (DOCS / "hooks.md").read_text(encoding="utf-8")
    for kind, names in HOOK_KINDS.items():
        assert f"`{kind}(*, {', '.join(names)})`" in shown


def test_what_hooks_are_given_is_described() -> None:
    shown = (DOCS / "hooks.md").read_text(encoding="utf-8")
    for kind in (public.Context, public.Recipient, public.Post):
        for name in inspect.signature(kind).parameters:
            assert f"`{name}`" in shown, name
    for name in (name for name in dir(public.Post) if name.startswith("with_")):
        assert name in shown


def test_frames_become_links_in_words_of_our_own() -> None:
    (item,) = collect(a_newsletter("each", hooks="embedded"))
    own = '<p><a href="https://bees.example/">▶ is no frame</a>, this is a text.</p>'
    post(item, content=f"<p>Look:</p>{FILM}{MAP}{own}")
    assert complete_due(clock=lambda: NOW) == 1
    issue = Issue.objects.get()
    content = issue.issue_items.get().entry["content"]
    film = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
    for address in (film, "https://maps.example/?at=hive"):
        assert (
            f'<blockquote>Embedded in the post: <a href="{address}" rel="noopener">{address}</a>' in content
        )
    assert content.count("<blockquote>") == 2
    assert "▶ is no frame" in content
    assert "Embedded in the post: " in issue.html
    assert film in issue.text


def test_drafts_are_not_taken_updates_come_last_and_the_subject_names_the_first() -> None:
    subscribable = a_newsletter("daily", hooks="every_kind", title="Weekly")
    titles = ["Update: Bees", "Update: Wax", "Bees", "Queens"]
    for number, (item, title) in enumerate(zip(collect(subscribable, 4), titles, strict=True)):
        post(item, title=title)
        Item.objects.filter(pk=item.pk).update(first_seen=NOW.replace(minute=10 - number))
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    issue = Issue.objects.get()
    assert [row.entry["title"] for row in issue.issue_items.all()] == ["Bees", "Queens", "Update: Wax"]
    assert issue.subject == "Weekly: Bees and 2 more"
    draft = public.post_of(Entry(guid="1", categories=("draft",)))
    assert load("every_kind").call("filter", context=None, post=draft) is False


def test_housekeeping_is_not_announced_by_itself() -> None:
    (item,) = collect(a_newsletter("each", hooks="every_kind"))
    post(item, categories=("housekeeping",))
    assert complete_due(clock=lambda: NOW) == 1
    assert not Issue.objects.exists()


def test_a_status_has_words_link_and_tags() -> None:
    subscribable = BridgeFactory(hooks="every_kind", feeds=[FeedFactory()])
    first, second = collect(subscribable, 2)
    post(first, title="Bees", categories=("Bee keeping", "Wax"))
    post(second, title="")
    assert complete_due(clock=lambda: NOW) == 2
    message = MastodonBridge().compose(issue_letter(Issue.objects.get()), Recipient(1, "b@x.example", "b"))
    text = "".join(part.text for part in message.body.parts)
    assert text == f"New on the blog: Bees\n\n{first.link}\n\n#Beekeeping #Wax"


def test_a_reader_is_greeted() -> None:
    ask = recipient_params(a_newsletter(hooks="every_kind"))
    assert ask is not None
    assert ask(public.Recipient(address="a@x.example", name="Ada"))["greeting"] in (
        "Good morning, Ada",
        "Good day, Ada",
    )
