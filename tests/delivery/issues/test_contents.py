"""Rules, order and hooks when a collection is completed."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from channels.letter import LetterError, Recipient
from channels.mastodon.bridge import MastodonBridge
from delivery.issues.complete import complete_due
from delivery.issues.own_code import recipient_params
from delivery.letters.build import issue_letter
from delivery.letters.samples import sample_posts
from delivery.models import Delivery, Issue
from feeds.models import Item
from feeds.parsing.entry import Entry
from subscriptions import hooks as public
from subscriptions.collections.post_rules import add_rule
from subscriptions.models import Assignable, LeftOut, PostRule, Subscribable
from tests import own_code
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect, item_states, open_collection
from tests.factories import NOW, BridgeFactory, FeedFactory, an_entry
from tests.feeds.documents import a_feed_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_code(settings: Any) -> Iterator[None]:
    settings.HOOK_MODULES = ["tests.own_code"]
    yield
    own_code.SAID.clear()


def hooked(code: str, arrangement: str = "daily", **changes: Any) -> Subscribable:
    return a_newsletter(arrangement, hooks=f"tests.own_code.{code}", **changes)


def titled(subscribable: Subscribable, *titles: str, announce: str = "") -> list[Item]:
    """Return collected posts of these titles, oldest first."""
    items = collect(subscribable, len(titles))
    for number, (item, title) in enumerate(zip(items, titles, strict=True)):
        assert item.entry is not None
        entry = replace(Entry.from_json(item.entry), title=title, announce=announce)
        item.entry, item.first_seen = entry.to_json(), NOW.replace(minute=number)
        item.save(update_fields=["entry", "first_seen"])
    return items


def sent() -> list[str]:
    """Return the titles in the only issue, in its order."""
    return [str(row.entry["title"]) for row in Issue.objects.get().issue_items.all()]


def completed() -> int:
    return complete_due(clock=lambda: MIDNIGHT)


# --- rules, order, maximum of posts


@pytest.mark.parametrize(
    ("order", "expected"),
    [("newest", ["B", "a", "C"]), ("oldest", ["C", "a", "B"]), ("title", ["a", "B", "C"])],
)
def test_posts_stand_in_the_order_of_the_newsletter(order: str, expected: list[str]) -> None:
    titled(a_newsletter("daily", post_order=order), "C", "a", "B")
    assert completed() == 1
    assert sent() == expected


def test_what_a_rule_replaces_is_replaced_in_the_letter_and_in_the_archive() -> None:
    subscribable = a_newsletter("each")
    add_rule(subscribable=subscribable, action="replace", pattern="text", replacement="tale & <b>")
    collect(subscribable)
    assert completed() == 1
    issue = Issue.objects.get()
    assert "tale &amp; &lt;b&gt;" in issue.issue_items.get().entry["content"]
    assert "tale &amp; &lt;b&gt;" in issue.html
    assert "tale & <b>" in issue.text


def test_a_rule_in_trouble_changes_nothing_and_says_so() -> None:
    subscribable = a_newsletter("each")
    row = PostRule.objects.create(
        subscribable=subscribable, action="replace", field="title", test="matches", pattern="(a+)+$"
    )
    titled(subscribable, "a" * 3000 + "!")
    assert completed() == 1
    assert sent() == ["a" * 3000 + "!"]
    row.refresh_from_db()
    assert "takes too long" in row.trouble


def test_beyond_the_most_posts_titles_are_mentioned_and_count_as_sent() -> None:
    items = titled(a_newsletter("daily", max_posts=2), "One", "Two", "Three", "Four")
    assert completed() == 1
    issue = Issue.objects.get()
    assert sent() == ["Four", "Three", "Two", "One"]
    assert item_states(items) == {"cleared"}
    assert len(re.findall(r"The text of post", issue.text)) == 2
    assert "Two" in issue.text
    assert "One" in issue.html


# --- hooks: contents


def test_own_code_puts_posts_in_order() -> None:
    titled(hooked("last_first"), "One", "Two", "Three")
    assert completed() == 1
    assert sent() == ["One", "Two", "Three"]


def test_what_own_code_drops_leaves_the_collection_and_its_page_says_why() -> None:
    subscribable = hooked("only_first", title="Weekly")
    items = titled(subscribable, "One", "Two")
    assert completed() == 1
    assert sent() == ["Two"]
    assert item_states(items) == {"cleared"}
    row = LeftOut.objects.get()
    assert (row.item, row.subscribable) == (items[0], subscribable)
    items[0].refresh_from_db()
    assert items[0].reason.startswith("“Weekly” left it out: the newsletter’s own code (contents)")


def test_a_publishers_wish_is_not_named_where_own_code_dropped_the_post() -> None:
    items = titled(hooked("only_first"), "One", "Two", announce="piggyback")
    assert completed() == 1
    items[0].refresh_from_db()
    assert "hint-announce" not in items[0].reason


def test_a_digest_of_which_own_code_leaves_nothing_ends_without_a_letter() -> None:
    items = titled(hooked("nothing"), "One", "Two")
    assert completed() == 1
    assert not Issue.objects.exists()
    assert not Assignable.objects.exists()
    assert LeftOut.objects.count() == 2
    assert item_states(items) == {"cleared"}


def test_own_code_sees_what_rules_have_left_and_what_it_writes_is_made_safe() -> None:
    subscribable = hooked("rewrites", title="Weekly")
    add_rule(subscribable=subscribable, action="replace", pattern="One", replacement="Uno")
    titled(subscribable, "One")
    assert completed() == 1
    entry = Issue.objects.get().issue_items.get().entry
    assert (entry["title"], entry["content"]) == ("Weekly Uno", "<p>Uno</p>")


@pytest.mark.parametrize(
    ("name", "arrangement", "said"),
    [
        ("nothing", "each", "gave back 0 posts where each is sent on its own: give back one"),
        ("twice", "each", "a post twice"),
        ("twice", "daily", "a post twice"),
        ("contents_fail", "daily", "failed: RuntimeError: out of order"),
        ("generator_fails", "daily", "RuntimeError: out of order"),
        ("no_posts", "daily", "gave back 'post', which is no post"),
        ("wrong_title", "daily", "title is not a text, but None"),
        ("subject_fails", "daily", "subject_fails.subject failed: RuntimeError: out of order"),
        ("subject_number", "daily", "gave back 7, which is no text"),
        ("sometimes", "daily", "it must be always, never, piggyback or None"),
    ],
)
def test_while_own_code_fails_the_collection_stays_with_the_error(
    name: str, arrangement: str, said: str
) -> None:
    subscribable = hooked(name, arrangement)
    items = collect(subscribable)
    assert completed() == 0
    collection = open_collection(subscribable)
    assert said in collection.last_error
    assert f"tests.own_code.{name}." in collection.last_error
    assert (collection.failures, collection.seal_token) == (1, None)
    assert collection.next_try_at > MIDNIGHT
    assert item_states(items) == {"assigned"}
    Subscribable.objects.update(hooks="")
    assert complete_due(clock=lambda: collection.next_try_at) == 1
    assert Delivery.objects.count() == 2


# --- hooks: subject, hints, announcements, parameters


def test_own_code_chooses_the_subject_on_one_line() -> None:
    titled(hooked("subject", name="weekly"), "One", "Two")
    assert completed() == 1
    assert Issue.objects.get().subject == "weekly Bcc: 2"


def test_without_an_answer_the_subject_is_the_usual_one() -> None:
    titled(hooked("usual_subject", "each", title="Weekly"), "One")
    assert completed() == 1
    assert Issue.objects.get().subject == "One"


@pytest.mark.parametrize(
    ("name", "announce", "issues"),
    [
        ("always", "never", 1),
        ("always", "piggyback", 1),
        ("never", "", 0),
        ("as_published", "never", 0),
        ("as_published", "", 1),
    ],
)
def test_own_code_overrides_what_a_publisher_asks(name: str, announce: str, issues: int) -> None:
    titled(hooked(name), "One", announce=announce)
    assert completed() == 1
    assert Issue.objects.count() == issues


def bridge(name: str) -> Subscribable:
    feed = FeedFactory()
    made: Subscribable = BridgeFactory(hooks=f"tests.own_code.{name}", feeds=[feed])
    return made


def test_a_status_has_the_words_of_own_code() -> None:
    subscribable = bridge("words")
    titled(subscribable, "Bees")
    assert completed() == 1
    issue = Issue.objects.get()
    link = issue.issue_items.get().entry["link"]
    message = MastodonBridge().compose(issue_letter(issue), Recipient(1, "bot@x.example", "bot"))
    text = "".join(part.text for part in message.body.parts)
    assert text == f"Bees by @\u2060ada\n\n{link}\n#bees"
    assert (message.body.link, message.refusal) == (link, "")


def test_a_post_for_which_own_code_has_no_words_is_skipped() -> None:
    items = titled(bridge("no_words"), "Bees")
    assert completed() == 1
    assert not Issue.objects.exists()
    items[0].refresh_from_db()
    assert (items[0].state, "mastodon_announcement" in items[0].reason) == ("cleared", True)


def test_words_for_one_channel_are_not_asked_for_another() -> None:
    titled(hooked("no_words", "each"), "Bees")
    assert completed() == 1
    assert Issue.objects.get().html


def test_a_reader_has_values_of_own_code() -> None:
    ada = public.Recipient(address="ada@example.org", name="Ada")
    ask = recipient_params(hooked("params", title="Weekly"))
    assert ask is not None
    assert ask(ada) == {"greeting": "Weekly: Ada"}
    wrong = recipient_params(hooked("wrong_params"))
    assert wrong is not None
    with pytest.raises(ValueError, match="texts by name"):
        wrong(ada)


def test_without_that_hook_readers_are_not_asked_about() -> None:
    assert recipient_params(a_newsletter()) is None
    assert recipient_params(hooked("plain")) is None


# --- samples


def test_a_sample_holds_what_the_newsletter_would_take_as_it_would_send_it() -> None:
    feed = a_feed_of([an_entry(number, title=title) for number, title in enumerate(("Ad: x", "One", "Two"))])
    subscribable = a_newsletter("daily", feeds=[feed], hooks="tests.own_code.rewrites", title="W")
    add_rule(subscribable=subscribable, action="drop", field="title", pattern="Ad:")
    assert {post.entry.title for post in sample_posts(subscribable, 5)} == {"W One", "W Two"}


def test_a_sample_says_that_own_code_fails() -> None:
    feed = a_feed_of([an_entry(1)])
    for name in ("fails", "contents_fail"):
        subscribable = a_newsletter("daily", feeds=[feed], hooks=f"tests.own_code.{name}")
        with pytest.raises(LetterError, match="out of order"):
            sample_posts(subscribable, 5)


def test_a_sample_of_several_may_be_made_for_a_newsletter_of_each_post() -> None:
    feed = a_feed_of([an_entry(1), an_entry(2)])
    subscribable = a_newsletter("each", feeds=[feed], hooks="tests.own_code.last_first")
    assert len(sample_posts(subscribable, 2)) == 2
