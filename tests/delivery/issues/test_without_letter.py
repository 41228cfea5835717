"""Issues of channels without letters: none is rendered or stored, and pages show the posts."""

from typing import Any

import pytest
from django.test import Client

from channels.letter import Recipient
from channels.mastodon.bridge import MastodonBridge
from common.ports import channels
from delivery.issues.complete import complete_due
from delivery.issues.draft_edits import leave_out_of_draft
from delivery.letters.build import issue_letter
from delivery.models import Issue, LetterTemplate
from delivery.rendering import engine
from feeds.models import Item
from subscriptions.models import Subscribable
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect
from tests.factories import NOW, DestinationFactory, SubscriptionFactory, an_issue

pytestmark = pytest.mark.django_db


def a_bridge_with(posts: int, arrangement: str = "each", **changes: Any) -> list[Item]:
    bridge = a_newsletter(
        arrangement, readers=0, channel="mastodon", sign_up="closed", visibility="public", **changes
    )
    config = {"account": "bot", "instance_url": "https://mastodon.example"}
    to = DestinationFactory(kind="mastodon", core="bot@mastodon.example", label="bot", config=config)
    SubscriptionFactory(subscribable=bridge, destination=to)
    return collect(bridge, posts)


def words_of(issue: Issue) -> str:
    message = MastodonBridge().compose(issue_letter(issue), Recipient(1, "bot@x.example", "bot"))
    return "".join(part.text for part in message.body.parts)


def test_only_mail_reads_the_letter() -> None:
    assert [kind.key for kind in channels.all_kinds() if kind.needs_html] == ["email"]


@pytest.mark.parametrize(("arrangement", "posts"), [("each", 1), ("daily", 3)])
def test_nothing_is_rendered_for_a_bridge(
    monkeypatch: pytest.MonkeyPatch, arrangement: str, posts: int
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("rendered")

    items = a_bridge_with(posts, arrangement)
    monkeypatch.setattr(engine, "render_parts", refuse)
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    issue = Issue.objects.get()
    assert (issue.html, issue.text, issue.placeholders) == ("", "", {})
    assert issue.subject
    assert issue.issue_items.count() == posts
    words = words_of(issue)
    if arrangement == "each":
        assert words.startswith(f"[{issue.subscribable.name}] New Post: {items[0].title}")
    else:
        assert issue.title in words


def test_a_newsletter_by_mail_has_its_letter() -> None:
    collect(a_newsletter("each"), 1)
    complete_due(clock=lambda: MIDNIGHT)
    assert Issue.objects.get().html


def test_a_broken_template_of_ones_own_stops_no_bridge() -> None:
    a_bridge_with(1)
    LetterTemplate.objects.create(
        subscribable=Subscribable.objects.get(), name="issues/post", html="{% nope %}"
    )
    assert complete_due(clock=lambda: MIDNIGHT) == 1


def test_the_archive_and_its_feed_show_the_posts(client: Client) -> None:
    [item] = a_bridge_with(1)
    complete_due(clock=lambda: MIDNIGHT)
    issue = Issue.objects.get()
    name = issue.subscribable.name
    for url in (f"/s/{name}/archive/", f"/s/{name}/archive/{issue.pk}/", f"/s/{name}/feed.xml"):
        answer = client.get(url, follow=True)
        assert answer.status_code == 200, url
        assert item.title in answer.content.decode(), url


def test_an_issue_of_before_posts_the_usual_words_and_not_the_letters_text() -> None:
    a_bridge_with(1)
    complete_due(clock=lambda: MIDNIGHT)
    before = words_of(Issue.objects.get())
    Issue.objects.update(html="<p>Letter</p>", text="The letter as text", placeholders={"toname": "x"})
    assert words_of(Issue.objects.get()) == before


def test_a_draft_of_before_is_edited_and_its_letters_text_is_not_posted() -> None:
    first, second = a_bridge_with(2, "daily", approval="click")
    complete_due(clock=lambda: MIDNIGHT)
    Issue.objects.update(html="<p>Letter</p>", text="The letter as text")
    leave_out_of_draft(issue_id=Issue.objects.get().pk, item_id=second.pk, now=NOW)
    issue = Issue.objects.get()
    assert (issue.html, issue.text) == ("", "")
    assert first.title in str(issue_letter(issue).entries)


def test_its_page_shows_what_was_posted_and_no_letter(admin_client: Client) -> None:
    [item] = a_bridge_with(1)
    complete_due(clock=lambda: MIDNIGHT)
    issue = Issue.objects.get()
    page = admin_client.get(f"/admin/delivery/issue/{issue.pk}/change/").content.decode()
    assert f"New Post: {item.title}" in page
    assert "of 500 that Mastodon takes" in page
    assert "<iframe" not in page
    Issue.objects.update(pruned_at=NOW)
    page = admin_client.get(f"/admin/delivery/issue/{issue.pk}/change/").content.decode()
    assert "The content of this old issue was deleted" in page


def test_the_page_of_a_letter_is_as_it_was(admin_client: Client) -> None:
    issue = an_issue(posts=1, html="<p>Hi</p>")
    page = admin_client.get(f"/admin/delivery/issue/{issue.pk}/change/").content.decode()
    assert "<iframe" in page
    assert "The post<" not in page
