"""The page of a series: write, order, switch on, and who may."""

from typing import Any

import pytest
from django.test import Client

from delivery.issues.series import emails_of
from delivery.models import Broadcast
from delivery.resources.letters import letters
from subscriptions.models import SeriesRun, Subscribable
from tests.delivery.issues.test_series import a_series, an_archive, joined
from tests.factories import NOW, SubscribableFactory

pytestmark = pytest.mark.django_db


def url(newsletter: Subscribable, query: str = "") -> str:
    return f"/admin/delivery/broadcast/series/{newsletter.pk}/{query}"


def html(client: Client, newsletter: Subscribable, query: str = "") -> str:
    return client.get(url(newsletter, query)).content.decode()


def post(client: Client, newsletter: Subscribable, do: str, letter: int = 0, **data: Any) -> str:
    answer = client.post(url(newsletter, f"?letter={letter}"), {"do": do, **data}, follow=True)
    return answer.content.decode()


def test_an_empty_one_says_what_it_is(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    assert "Write its first email" in html(admin_client, newsletter)
    panel = admin_client.get(f"/admin/subscriptions/subscribable/{newsletter.pk}/change/?tab=subscribers")
    assert "Begin a series" in panel.content.decode()


def test_an_email_is_written_in_the_editor_and_switched_on_there(admin_client: Client) -> None:
    newsletter = SubscribableFactory(welcome="series")
    assert "Switch on" in post(admin_client, newsletter, "write")
    letter = Broadcast.objects.get()
    data = {"do": "on", "subject": "Welcome", "markdown": "Hi", "version": letter.version}
    shown = admin_client.post(f"/admin/delivery/broadcast/{letter.pk}/change/", data, follow=True)
    assert "“Welcome” is switched on." in shown.content.decode()
    assert "Nobody got it yet" in html(admin_client, newsletter)
    assert "Write an email" in html(admin_client, newsletter)


def test_an_empty_email_is_refused_with_what_was_typed(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    post(admin_client, newsletter, "write")
    letter = Broadcast.objects.get()
    data = {"do": "on", "subject": "Welcome", "markdown": "", "version": letter.version}
    shown = admin_client.post(f"/admin/delivery/broadcast/{letter.pk}/change/", data, follow=True)
    assert "Not switched on. It has no text." in shown.content.decode()
    assert 'value="Welcome"' in shown.content.decode()


def test_every_button_saves_the_typed_days(admin_client: Client) -> None:
    newsletter = a_series(2)
    first, second = emails_of(newsletter)
    days: dict[str, Any] = {f"days-{first.pk}": "0", f"days-{second.pk}": "9"}
    post(admin_client, newsletter, "up", second.pk, **days)
    assert list(emails_of(newsletter).values_list("pk", "series_days")) == [(second.pk, 9), (first.pk, 0)]
    days = {f"days-{first.pk}": "366"}
    assert "Give 0 to 365 days" in post(admin_client, newsletter, "days", **days)


def test_emails_are_removed_and_put_back(admin_client: Client) -> None:
    newsletter = a_series(1)
    letter = Broadcast.objects.get()
    assert "choose “Add to the series”" in post(admin_client, newsletter, "remove", letter.pk)
    letter.refresh_from_db()
    assert letters.add_to_series(letter, days=3, now=NOW)
    assert [row.series_days for row in emails_of(newsletter)] == [3]


def test_posts_of_the_archive_are_searched_and_added(admin_client: Client) -> None:
    newsletter = a_series(0)
    posts = an_archive(newsletter)
    assert "Old 2" not in html(admin_client, newsletter, "?find=old+1")
    assert "No post has these words" in html(admin_client, newsletter, "?find=xyz")
    assert "1 post added." in post(admin_client, newsletter, "posts", posts=[posts[0].pk])
    assert "a post of the archive" in html(admin_client, newsletter)


def test_settings_switch_it_on_and_off(admin_client: Client) -> None:
    newsletter = a_series(1, welcome="words")
    assert "Nobody gets these yet" in html(admin_client, newsletter)
    shown = post(admin_client, newsletter, "settings", is_on="on", series_at="06:30", series_first="on")
    assert "Each new subscriber gets these" in shown
    newsletter.refresh_from_db()
    assert (newsletter.welcome, f"{newsletter.series_at:%H:%M}", newsletter.series_first) == (
        "series",
        "06:30",
        True,
    )
    post(admin_client, newsletter, "settings", series_at="")
    newsletter.refresh_from_db()
    assert newsletter.welcome == "none"


def test_a_subscribers_page_shows_how_far_they_are(admin_client: Client) -> None:
    row = joined(a_series(2))
    page = f"/admin/subscriptions/subscription/{row.pk}/change/"
    assert "0 of 2" in admin_client.get(page).content.decode()
    SeriesRun.objects.update(due_at=None)
    assert "waits until they come back" in admin_client.get(page).content.decode()


def test_bridges_and_unknown_newsletters_have_none(admin_client: Client) -> None:
    bridge = SubscribableFactory(channel="mastodon")
    assert admin_client.get(url(bridge)).status_code == 404
    bridge.pk = 99
    assert admin_client.get(url(bridge)).status_code == 404
