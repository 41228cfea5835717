"""“Put it on your site” on a newsletter's admin page."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable
from tests.console import printed, refused
from tests.factories import BridgeFactory, FeedFactory, SubscribableFactory
from tests.subscriptions.admin.test_rules import form_of

pytestmark = pytest.mark.django_db


def page(client: Client, newsletter: Subscribable, tab: str = "site") -> str:
    where = reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk]) + f"?tab={tab}"
    return client.get(where).content.decode()


def pasted(shown: str) -> list[str]:
    """Return the texts to be copied."""
    return [
        html.unescape(found)
        for found in re.findall(r'<pre class="fl-copy" tabindex[^>]*>(.*?)</pre>', shown, re.S)
    ]


def test_it_has_the_widget_the_form_and_the_link_ready_to_copy(admin_client: Client, settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"
    made = SubscribableFactory(name="weekly", title="Tea & <Biscuits>", embed_hosts="blog.example.org")
    widget, form, back, link = pasted(page(admin_client, made))
    assert widget == (
        '<a href="https://letters.example.org/s/weekly/" data-feedletter>'
        "Subscribe to Tea &amp; &lt;Biscuits&gt;</a>\n"
        '<script async src="https://letters.example.org/static/feedletter/widget.js"></script>'
    )
    assert 'action="https://letters.example.org/s/weekly/subscribe/"' in form
    assert back == '<input type="hidden" name="return_to" value="https://blog.example.org/thanks/">'
    assert link.startswith('<a href="https://letters.example.org/s/weekly/">')


def test_what_is_pasted_signs_up(admin_client: Client, client: Client) -> None:
    made = SubscribableFactory(name="weekly", embed_hosts="blog.example.org")
    _, form, back, _ = pasted(page(admin_client, made))
    action = re.findall(r'action="https?://[^/]+([^"]+)"', form)[0]
    (name,) = re.findall(r'<input type="email" name="(\w+)"', form)
    (value,) = re.findall(r'name="return_to" value="([^"]+)"', back)
    answer = client.post(action, {name: "ada@example.org", "return_to": value})
    assert (answer.status_code, answer["Location"]) == (303, value)
    assert made.subscriptions.count() == 1


def test_it_says_what_to_set_first(admin_client: Client) -> None:
    made = SubscribableFactory(name="weekly")
    assert "Name your site first" in page(admin_client, made)
    Subscribable.objects.update(embed_hosts="blog.example.org")
    assert "Name your site first" not in page(admin_client, made)


def test_it_shows_the_form_as_readers_see_it(admin_client: Client) -> None:
    shown = page(admin_client, SubscribableFactory(name="weekly"))
    assert '<iframe class="fl-embed" src="/s/weekly/embed/"' in shown
    assert "feedletter/pasting.js" in shown


@pytest.mark.parametrize("facts", [{"visibility": "private"}, {"sign_up": "closed"}, {"stopped": True}])
def test_there_is_nothing_to_paste_where_nobody_signs_up(admin_client: Client, facts: dict[str, Any]) -> None:
    assert not pasted(page(admin_client, SubscribableFactory(**facts)))


def test_bridges_have_no_such_panel(admin_client: Client) -> None:
    assert "Put it on your site" not in page(admin_client, BridgeFactory())


def test_sites_are_tidied_when_they_are_saved() -> None:
    made = SubscribableFactory()
    altered = alter_subscribable(
        subscribable=made, embed_hosts="https://Blog.example.org/x\n\nbücher.example"
    )
    assert altered.embed_hosts == "blog.example.org\nxn--bcher-kva.example"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "kept"), [("https://Blog.example.org/", "blog.example.org"), ("a b", "")]
)
def test_the_form_keeps_sites_and_refuses_what_is_none(admin_client: Client, written: str, kept: str) -> None:
    made = SubscribableFactory(feeds=1)
    where = reverse("admin:subscriptions_subscribable_change", args=[made.pk]) + "?tab=settings"
    data = form_of(admin_client.get(where))
    answer = admin_client.post(where, {**data, "embed_hosts": written, "_continue": "1"}, follow=True)
    made.refresh_from_db()
    assert made.embed_hosts == kept
    assert ("is not a site" in answer.content.decode()) == (not kept)


@pytest.mark.slow
def test_a_command_names_the_sites_and_the_page_tells_that_command(admin_client: Client) -> None:
    feed = str(FeedFactory().pk)
    printed(
        "define_subscribable", "weekly", "--feed", feed, "--embed-host=a.example", "--embed-host=*.b.example"
    )
    made = Subscribable.objects.get()
    assert made.embed_hosts == "a.example\n*.b.example"
    assert "--embed-host=a.example" in page(admin_client, made, "settings")
    printed("alter_subscribable", "weekly", "--embed-host=")
    made.refresh_from_db()
    assert made.embed_hosts == ""


def test_a_command_refuses_what_is_no_site() -> None:
    SubscribableFactory(name="weekly")
    assert "“a b” is not a site" in refused("alter_subscribable", "weekly", "--embed-host", "a b")
