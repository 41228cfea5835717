"""The pages on which an editor writes, previews, tests, schedules and sends a letter."""

from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from delivery.issues.audience import chosen_audience
from delivery.issues.broadcasts import release_letters, save_letter
from delivery.models import Broadcast, Delivery, Issue
from subscriptions.models import Picture, SubscriberTag
from subscriptions.subscribers.tags import delete_tags, tag_people
from tests.delivery.ledger import HOUR
from tests.factories import (
    NOW,
    BridgeFactory,
    BroadcastFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
)
from tests.pictures import drawn, octets_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def letter() -> Any:
    newsletter = SubscribableFactory(name="weekly", title="The Weekly", time_zone="America/New_York")
    SubscriptionFactory.create_batch(3, subscribable=newsletter)
    return BroadcastFactory(subscribable=newsletter, subject="Summer", markdown="We *rest*.")


def address(letter: Broadcast, view: str = "change") -> str:
    return reverse(f"admin:delivery_broadcast_{view}", args=[letter.pk])


def page(client: Client, letter: Broadcast, view: str = "change") -> str:
    return client.get(address(letter, view)).content.decode()


def post(client: Client, letter: Broadcast, do: str, view: str = "change", **data: Any) -> str:
    facts = {"version": letter.version, "do": do, **data}
    return client.post(address(letter, view), facts, follow=True).content.decode()


def a_text(subject: str = "New", markdown: str = "Some **words**") -> dict[str, str]:
    return {"subject": subject, "markdown": markdown}


def a_client(*permissions: str) -> Client:
    user = User.objects.create_user("bea", "bea@example.org", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_a_letter_is_begun_for_a_newsletter_and_opens_at_its_desk(admin_client: Client) -> None:
    BridgeFactory(title="A bridge")
    newsletter = SubscribableFactory(title="The Weekly")
    place = reverse("admin:delivery_broadcast_add")
    asked = admin_client.get(place).content.decode()
    assert "A bridge" not in asked
    # The only newsletter is preselected.
    assert f'<option value="{newsletter.pk}" selected>' in asked
    answer = admin_client.post(place, {"subscribable": newsletter.pk, "subject": "Hi"}, follow=True)
    made = Broadcast.objects.get()
    assert answer.redirect_chain == [(address(made), 302)]
    assert (made.subject, made.author, made.version) == ("Hi", "admin", 1)


def test_the_desk_shows_what_is_written_and_the_letter(admin_client: Client, letter: Any) -> None:
    shown = page(admin_client, letter)
    assert "We *rest*.</textarea>" in shown
    assert shown.count("sandbox title=") == 2
    assert "&lt;em&gt;rest&lt;/em&gt;" in shown


def test_the_preview_follows_the_typing_and_keeps_nothing(admin_client: Client, letter: Any) -> None:
    shown = admin_client.post(address(letter, "show"), a_text()).json()
    assert "<strong>words</strong>" in shown["day"]
    assert (shown["subject"], shown["problem"]) == ("New", None)
    letter.refresh_from_db()
    assert letter.subject == "Summer"


def test_what_is_typed_is_kept_and_another_window_is_told(admin_client: Client, letter: Any) -> None:
    typed = {**a_text(), "version": letter.version}
    kept = admin_client.post(address(letter, "keep"), typed)
    assert kept.json()["version"] == 2
    assert kept.json()["said"].startswith("Saved at ")
    refused = admin_client.post(address(letter, "keep"), {**typed, "subject": "Other"})
    assert refused.status_code == 409
    assert "another window" in refused.json()["problem"]
    letter.refresh_from_db()
    assert letter.subject == "New"


def test_what_cannot_be_saved_stays_in_the_form(admin_client: Client, letter: Any) -> None:
    save_letter(letter_id=letter.pk, subject="Theirs", markdown="Theirs", version=1, now=NOW)
    for _ in range(2):
        shown = post(admin_client, letter, "save", **a_text("Mine", "Mine too"))
        assert "Not saved." in shown
        assert "Mine too</textarea>" in shown
        # A second click must not overwrite others' changes either.
        assert 'name="version" value="1"' in shown
    letter.refresh_from_db()
    assert letter.subject == "Theirs"


@pytest.mark.parametrize("do", ["save", "preview", "test", "send"])
def test_every_button_keeps_what_was_typed(admin_client: Client, letter: Any, do: str) -> None:
    post(admin_client, letter, do, **a_text())
    letter.refresh_from_db()
    assert (letter.subject, letter.markdown) == ("New", "Some **words**")


def test_a_test_goes_to_whoever_writes(admin_client: Client, letter: Any) -> None:
    assert "We’ve sent a test to admin@example.com." in post(admin_client, letter, "test", **a_text())
    row = Delivery.objects.get()
    assert (row.kind, row.context["written"]) == ("test", a_text())
    User.objects.update(email="")
    assert "Not sent: your user has no email address" in post(admin_client, letter, "test")


def test_before_it_goes_it_is_said_to_how_many_and_from_whom(admin_client: Client, letter: Any) -> None:
    LeftFactory(subscribable=letter.subscribable)
    shown = page(admin_client, letter, "send")
    assert "3 subscribers now: everybody who is confirmed" in shown
    assert "Letters &lt;letters@sender.example&gt;" in shown
    assert "Emails stay there until you choose a server in Email set-up" in shown
    assert "New York time" in shown
    assert not Delivery.objects.exists()


def test_it_goes_once_to_all_of_them(admin_client: Client, letter: Any) -> None:
    assert "Sending to 3 subscribers." in post(admin_client, letter, "now", "send")
    issue = Issue.objects.get()
    assert issue.deliveries.count() == 3
    # From then on, its page is that of its issue.
    answer = admin_client.get(address(letter))
    assert answer.headers["Location"] == reverse("admin:delivery_issue_change", args=[issue.pk])
    post(admin_client, letter, "now", "send")
    assert issue.deliveries.count() == 3
    shown = admin_client.get(answer.headers["Location"]).content.decode()
    assert "Written by" in shown
    assert ">deleted<" not in shown


def test_a_segment_is_chosen_counted_and_said_before_and_after_it_goes(
    admin_client: Client, letter: Any
) -> None:
    first = letter.subscribable.subscriptions.earliest("pk")
    tag_people(destinations=[first.destination_id], names=["vip"])
    chosen = {"whom": 1, "any_of": ["vip"]}
    # An editor who has not seen the number of recipients is shown it first.
    shown = post(admin_client, letter, "now", "send", **chosen)
    assert "Not sent yet. Recipients: 1 of 3 subscribers now: those with the tag" in shown
    assert not Issue.objects.exists()
    assert "For those with the tag “vip”." in page(admin_client, letter)
    letter.refresh_from_db()
    # A page that was opened before sends nothing.
    assert "was changed meanwhile" in post(admin_client, letter, "now", "send", version=1, **chosen)
    shown = post(admin_client, letter, "now", "send", **chosen)
    assert "Sending to 1 subscriber: those with the tag “vip”." in shown
    assert "Issues sent to part of the list aren’t archived." in shown
    assert Delivery.objects.get().subscription == first


def test_a_scheduled_one_says_that_its_segment_is_looked_up_then_and_what_was_deleted(
    admin_client: Client, letter: Any
) -> None:
    people = letter.subscribable.subscriptions.values_list("destination_id", flat=True)
    tag_people(destinations=people, names=["vip"])
    audience = chosen_audience(letter.subscribable, none_of=["vip"])
    Broadcast.objects.update(audience=audience.to_json(), send_at=NOW, next_try_at=NOW)
    shown = page(admin_client, letter)
    assert "0 of 3 subscribers now: everybody without the tag “vip”" in shown
    assert "Everyone who is subscribed and has the tags at that time" in shown
    delete_tags(tags=SubscriberTag.objects.values_list("pk", flat=True))
    release_letters(clock=lambda: NOW)
    shown = page(admin_client, letter)
    assert "Needs you" in shown
    assert "“vip”, which no longer exists" in shown
    assert "tried again" not in shown
    assert "1 email can’t be sent" in admin_client.get("/admin/").content.decode()


def test_to_nobody_nothing_is_sent(admin_client: Client, letter: Any) -> None:
    letter.subscribable.subscriptions.update(status="unsubscribed")
    assert "You can send it once there’s a confirmed subscriber" in page(admin_client, letter, "send")
    assert "Not sent. Nobody would get it" in post(admin_client, letter, "now", "send")
    assert not Issue.objects.exists()


def a_file() -> SimpleUploadedFile:
    return SimpleUploadedFile("x.png", octets_of(drawn(40, 30)), content_type="image/png")


def test_a_picture_is_uploaded_for_the_text(admin_client: Client, letter: Any) -> None:
    place = address(letter, "picture")
    made = admin_client.post(place, {"picture": a_file(), "shows": "A [cat]"}).json()
    name = Picture.objects.get().name
    assert made == {"markdown": rf"![A \[cat\]](/pictures/{name})"}
    shown = admin_client.post(address(letter, "show"), a_text(markdown=made["markdown"])).json()
    assert f"/pictures/{name}" in shown["day"]
    assert "A [cat]" in shown["day"]
    for file in (SimpleUploadedFile("x.svg", b"<svg/>"), ""):
        refused = admin_client.post(place, {"picture": file})
        assert refused.status_code == 422
        assert refused.json()["problem"].startswith("Not uploaded. ")
    # Without scripts it is added to the end of the text.
    shown = post(admin_client, letter, "picture", **a_text(), picture=a_file(), shows="A cat")
    letter.refresh_from_db()
    assert letter.markdown == f"Some **words**\n\n![A cat](/pictures/{name})\n"


def test_one_that_was_changed_meanwhile_is_not_sent(admin_client: Client, letter: Any) -> None:
    save_letter(letter_id=letter.pk, subject="Theirs", markdown="Theirs", version=1, now=NOW)
    assert "Not sent." in post(admin_client, letter, "now", "send")
    assert not Issue.objects.exists()


def test_it_is_scheduled_on_the_newsletters_own_clock(admin_client: Client, letter: Any) -> None:
    day = (utcnow() + timedelta(days=30)).date()
    shown = post(admin_client, letter, "schedule", "send", at=f"{day}T07:00")
    letter.refresh_from_db()
    assert letter.send_at == datetime.combine(day, time(7), ZoneInfo("America/New_York"))
    assert f"{day.year} at 7:00, New York time" in shown
    # It can be read, not edited, until it is unscheduled.
    assert "<textarea" not in shown
    assert "<textarea" in post(admin_client, letter, "edit")
    letter.refresh_from_db()
    assert letter.send_at is None


@pytest.mark.parametrize(
    ("at", "said"), [("", "required"), ("soon", "such as"), ("2020-01-01T07:00", "has passed")]
)
def test_a_time_that_cannot_be_is_said_at_its_field(
    admin_client: Client, letter: Any, at: str, said: str
) -> None:
    assert said in post(admin_client, letter, "schedule", "send", at=at)
    letter.refresh_from_db()
    assert letter.send_at is None


def test_what_keeps_a_scheduled_one_from_going_is_said(admin_client: Client, letter: Any) -> None:
    Broadcast.objects.update(send_at=NOW, next_try_at=NOW + HOUR, last_error="It does not render.")
    assert "It does not render." in page(admin_client, letter)
    listed = admin_client.get(reverse("admin:delivery_broadcast_changelist")).content.decode()
    assert "not sent, needs you" in listed


def test_it_is_deleted_after_a_question(admin_client: Client, letter: Any) -> None:
    place = reverse("admin:delivery_broadcast_changelist")
    asked = {"action": "drop", "_selected_action": [letter.pk], "index": 0}
    assert "You can’t undo this." in admin_client.post(place, asked).content.decode()
    admin_client.post(place, {**asked, "confirmed": 1})
    assert not Broadcast.objects.exists()


def test_the_newsletters_page_leads_there(admin_client: Client, letter: Any) -> None:
    place = reverse("admin:subscriptions_subscribable_change", args=[letter.subscribable.pk])
    shown = admin_client.get(f"{place}?tab=issues").content.decode()
    assert address(letter) in shown
    assert f"/admin/delivery/broadcast/add/?subscribable={letter.subscribable.pk}" in shown


def test_who_may_only_look_changes_nothing(letter: Any) -> None:
    client = a_client("view_broadcast")
    shown = page(client, letter)
    assert "<textarea" not in shown
    assert "Delete email" not in shown
    for view in ("change", "keep", "picture", "send"):
        for do in ("save", "test", "send", "edit", "now", "schedule"):
            facts = {**a_text(), "version": 1, "do": do}
            assert client.post(address(letter, view), facts).status_code == 403
    assert not Delivery.objects.exists()
    assert a_client_of_nothing().get(address(letter)).status_code == 403


def a_client_of_nothing() -> Client:
    User.objects.filter(username="bea").delete()
    return a_client()
