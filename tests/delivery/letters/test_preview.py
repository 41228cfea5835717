"""Previews of any mail or page as a reader would get it, without anyone's keys."""

from email import message_from_string, policy

import pytest

from delivery.accounts.dkim_keys import make_key
from delivery.letters.templates import Preview, UnknownReader, find_reader, known_templates, preview
from delivery.models import Delivery
from delivery.rendering.facts import TemplateSource
from subscriptions.models import Subscribable
from tests.delivery.own_letters import a_read_feed, kept, saved
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def shown(subscribable: Subscribable, name: str = "issues/post", **asked: object) -> Preview:
    return preview(subscribable=subscribable, name=name, now=NOW, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [known.name for known in known_templates()])
def test_every_mail_and_page_can_be_seen_before_there_is_anything(name: str) -> None:
    made = shown(SubscribableFactory(), name)
    assert made.problem is None
    assert made.html
    assert made.subject
    assert bool(made.text and made.raw) == (name != "pages/issue")
    assert made.is_made_up == (not name.startswith("mails/"))
    assert Delivery.objects.count() == 0


def test_it_shows_the_newest_posts_as_ada_gets_them() -> None:
    subscribable = SubscribableFactory(feeds=[a_read_feed()])
    made = shown(subscribable, source=TemplateSource(html="{{ posts.0.title }} for %toNickname%"))
    assert "Post 0 for Ada" in made.html
    assert not made.is_made_up
    assert made.text.startswith(str(subscribable))


def test_a_digest_is_seen_with_several_posts_whatever_the_newsletter_sends() -> None:
    subscribable = SubscribableFactory(feeds=[a_read_feed()])
    assert shown(subscribable, "issues/digest").html.count("blog.example/p") > 2
    assert "Post 1" not in shown(subscribable, "issues/announcement").html


def test_it_can_be_seen_as_a_subscriber_without_their_keys() -> None:
    subscription = SubscriptionFactory(display_name="Zoë")
    reader = find_reader(subscription.subscribable, subscription.destination.label.upper())
    made = shown(
        subscription.subscribable, source=TemplateSource(html="%to% %manageLink% %removeLink%"), reader=reader
    )
    assert f"Zoë &lt;{subscription.destination.label}&gt;" in made.html
    assert subscription.token not in made.html + made.text + made.raw
    assert "/manage/preview/" in made.html


def test_a_reader_who_does_not_subscribe_is_not_shown() -> None:
    other = SubscriptionFactory()
    for address in (other.destination.label, "no address", ""):
        with pytest.raises(UnknownReader):
            find_reader(SubscribableFactory(), address)


def test_the_source_is_the_message_as_it_would_go_out() -> None:
    make_key(domain="sender.example", now=NOW)
    subscribable = SubscribableFactory(feeds=[a_read_feed()])
    message = message_from_string(shown(subscribable).raw, policy=policy.default)
    assert message["Subject"] == shown(subscribable).subject
    assert "ada@example.org" in message["To"]
    assert "/unsubscribe/preview/" in message["List-Unsubscribe"]
    assert message["DKIM-Signature"]
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    confirmation = message_from_string(shown(subscribable, "mails/confirmation").raw, policy=policy.default)
    assert confirmation["List-Unsubscribe"] is None


def test_what_is_kept_is_shown_unless_there_is_a_draft() -> None:
    subscribable = SubscribableFactory()
    saved(subscribable, "mails/welcome", "Kept")
    assert "Kept" in shown(subscribable, "mails/welcome").html
    assert "Draft" in shown(subscribable, "mails/welcome", source=TemplateSource(html="Draft")).html


@pytest.mark.parametrize("name", ["issues/post", "mails/welcome", "pages/issue"])
def test_what_is_wrong_is_told_with_its_line(name: str) -> None:
    subscribable = SubscribableFactory()
    made = shown(subscribable, name, source=TemplateSource(html="x\n{% nope %}"))
    assert made.problem is not None
    assert (made.problem.part, made.problem.line, made.html) == ("html", 2, "")
    kept(subscribable, name, "{% nope %}")
    assert shown(subscribable, name).problem is not None


def test_a_sender_that_is_no_address_is_told() -> None:
    made = shown(SubscribableFactory(from_email="nobody"))
    assert made.problem is not None
