"""An issue's page: its progress, failures, and actions."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from common.admin.html import object_url
from common.clock import utcnow
from delivery.engine.claimer import LetterCache
from delivery.engine.send_task import read_claimed
from delivery.issues.broadcasts import begin_letter, send_letter
from delivery.issues.pause import pause_newsletter
from delivery.issues.publish import publish
from delivery.letters.build import issue_letter
from delivery.links import issue_url
from delivery.models import Broadcast, Delivery, Issue
from subscriptions.models import Subscribable
from tests.delivery.ledger import queued, states
from tests.factories import (
    AttemptFactory,
    BounceFactory,
    BroadcastFactory,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_issue,
)

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def page(client: Client, issue: Issue) -> str:
    return str(client.get(reverse("admin:delivery_issue_change", args=[issue.pk])).content.decode())


def act(client: Client, issue: Issue, action: str, **data: str) -> str:
    given: dict[str, Any] = {
        "action": action,
        "_selected_action": [issue.pk],
        "_on_page": str(issue.pk),
        **data,
    }
    answer = client.post(reverse("admin:delivery_issue_changelist"), given, follow=True)
    return str(answer.content.decode())


def offers(shown: str) -> set[str]:
    names = "approve release hold discard restore send_test pause resume retry_failed send_late cancel"
    return {name for name in names.split() if f'value="{name}"' in shown}


def a_draft(readers: int = 2, **facts: Any) -> Issue:
    issue: Issue = an_issue(published_at=None, html="<p>The draft itself.</p>", **facts)
    SubscriptionFactory.create_batch(readers, subscribable=issue.subscribable)
    return issue


def test_a_draft_shows_the_letter_when_it_goes_and_to_how_many(admin_client: Client) -> None:
    issue = a_draft(release_at=utcnow() + HOUR)
    shown = page(admin_client, issue)
    assert "2 subscribers now" in shown
    assert "It will be sent automatically on" in shown
    assert "The draft itself." in shown
    assert "data-address" not in shown
    assert offers(shown) == {"approve", "release", "hold", "discard", "send_test"}


def test_approving_says_first_to_how_many(admin_client: Client) -> None:
    issue = a_draft(title="Spring")
    assert "“Spring” will be sent to 2 subscribers at once." in act(admin_client, issue, "approve")
    assert not Delivery.objects.exists()
    assert "Sending to 2 subscribers." in act(admin_client, issue, "approve", confirmed="1")
    assert states() == {"queued": 2}
    assert "was already sent" in act(admin_client, issue, "approve", confirmed="1")
    assert Delivery.objects.count() == 2


def test_a_drafts_times_are_by_its_newsletters_clock(admin_client: Client) -> None:
    issue = a_draft()
    Subscribable.objects.update(time_zone="Asia/Kolkata")
    assert "In Kolkata time (Asia/Kolkata)." in act(admin_client, issue, "release")
    at = (utcnow() + HOUR).replace(second=0, microsecond=0)
    local = at.astimezone(ZoneInfo("Asia/Kolkata"))
    given = {"with-at": f"{local:%Y-%m-%dT%H:%M}"}
    said = act(admin_client, issue, "release", confirmed="1", **given)
    assert f"{local:%H:%M}\N{NO-BREAK SPACE}IST. Until then you can stop it" in said
    issue.refresh_from_db()
    assert issue.release_at == at
    assert f'value="{local:%Y-%m-%dT%H:%M}"' in act(admin_client, issue, "release")


def test_a_draft_gets_a_time_loses_it_is_discarded_and_comes_back(admin_client: Client) -> None:
    issue = a_draft()
    assert "to 2 subscribers as of now" in act(admin_client, issue, "release")
    at = (utcnow() + HOUR).strftime("%Y-%m-%dT%H:%M")
    assert "Scheduled for" in act(admin_client, issue, "release", confirmed="1", **{"with-at": at})
    past = act(admin_client, issue, "release", confirmed="1", **{"with-at": "2020-01-01T10:00"})
    assert "That time has passed." in past
    issue.refresh_from_db()
    assert issue.release_at is not None
    assert issue.release_at.strftime("%Y-%m-%dT%H:%M") == at
    act(admin_client, issue, "hold")
    assert Issue.objects.get().release_at is None
    assert "won’t be sent, and its posts" in act(admin_client, issue, "discard")
    assert "Discarded on" in act(admin_client, issue, "discard", confirmed="1")
    assert offers(page(admin_client, issue)) == {"restore"}
    act(admin_client, issue, "restore")
    issue.refresh_from_db()
    assert issue.cancelled_at is None


def test_a_test_of_a_draft_is_the_draft(admin_client: Client) -> None:
    User.objects.update(email="ada@example.org")
    issue = a_draft(subject="Spring is here")
    assert "We’ve sent a test to ada@example.org." in act(admin_client, issue, "send_test")
    row = Delivery.objects.select_related("lane").get(kind="test")
    (claimed,) = read_claimed(row.lane, [row.pk], token=uuid4(), now=utcnow())
    letter = LetterCache().prepare(claimed, now=utcnow())[0].letter
    assert (letter.subject, letter.html, letter.kind) == (
        "Test: Spring is here",
        "<p>The draft itself.</p>",
        "test",
    )
    assert len(letter.entries) == 2
    assert issue.deliveries.count() == 0


def test_a_test_without_an_address_is_refused(admin_client: Client) -> None:
    User.objects.update(email="")
    assert "has no email address" in act(admin_client, a_draft(), "send_test")


def test_an_issue_that_is_being_sent_says_how_far_it_is(admin_client: Client) -> None:
    issue = IssueFactory()
    queued(6, issue=issue, state="sent", sent_at=utcnow())
    for minutes in (2, 4, 6, 8):
        queued(1, issue=issue, state="sent", sent_at=utcnow() - timedelta(minutes=minutes))
    queued(12, issue=issue)
    (row,) = queued(1, issue=issue, state="failed", domain="refuses.example", last_error="550 no")
    AttemptFactory(delivery=row, text="550 5.1.1 <b>No such user</b>")
    BounceFactory(delivery=issue.deliveries.filter(state="sent")[0], at=utcnow())
    shown = page(admin_client, issue)
    assert "Sent to 10 of 23 subscribers so far." in shown
    assert "6 in the last minute, about 2 minutes left." in shown
    for part in ("12 queued", "10 sent", "1 failed", "1 bounced"):
        assert part in shown
    assert f"issue__id__exact={issue.pk}&amp;state__exact=failed" in shown
    assert "550 5.1.1 &lt;b&gt;No such user&lt;/b&gt;" in shown
    assert "refuses.example" in shown
    assert '<svg class="fl-spark"' in shown
    assert f'data-address="/admin/delivery/issue/{issue.pk}/progress/"' in shown
    assert "feedletter/issue.js" in shown
    assert offers(shown) == {"pause", "retry_failed", "cancel"}


def test_the_ledger_behind_each_number_opens(admin_client: Client) -> None:
    issue = IssueFactory()
    queued(2, issue=issue, state="failed", domain="refuses.example")
    BounceFactory(delivery=queued(1, issue=issue, state="sent")[0])
    address = reverse("admin:delivery_delivery_changelist")
    for query, count in (
        ({"state__exact": "failed"}, 2),
        ({"domain__exact": "refuses.example"}, 2),
        ({"bounces__isnull": "False"}, 1),
    ):
        answer = admin_client.get(address, {"issue__id__exact": str(issue.pk), **query})
        assert answer.status_code == 200
        assert len(answer.context["cl"].result_list) == count


def test_the_plot_and_the_domains_follow_while_it_is_being_sent(admin_client: Client) -> None:
    issue = IssueFactory()
    queued(3, issue=issue, domain="reads.example")
    shown = page(admin_client, issue)
    assert "The first emails are being sent." in shown
    Delivery.objects.filter(pk=issue.deliveries.order_by("pk")[0].pk).update(state="sent", sent_at=utcnow())
    said = admin_client.get(reverse("admin:delivery_issue_progress", args=[issue.pk])).content.decode()
    for name in ("arrivals", "domains"):
        assert f'data-live="{name}"' in shown
        assert f'data-live="{name}"' in said
    assert "1 email, at most 1 a minute." in said
    assert "reads.example" in said


def test_a_cancelled_issue_tells_the_truth_everywhere(admin_client: Client) -> None:
    issue = IssueFactory(cancelled_at=utcnow())
    queued(2, issue=issue, state="sent", sent_at=utcnow())
    queued(5, issue=issue, state="cancelled")
    shown = page(admin_client, issue)
    assert "Cancelled after 2 of 7 subscribers. The remaining 5 won’t be sent." in shown
    assert 'value="2"' in shown
    assert "7 done" not in shown
    newsletter = reverse("admin:subscriptions_subscribable_change", args=[issue.subscribable_id])
    newsletter += "?tab=issues"
    for place in (reverse("admin:delivery_issue_changelist"), newsletter):
        assert "2 sent, 5 cancelled" in admin_client.get(place).content.decode()


def test_the_fragment_is_for_staff_who_may_see_issues(admin_client: Client, client: Client) -> None:
    issue = IssueFactory()
    queued(3, issue=issue)
    address = reverse("admin:delivery_issue_progress", args=[issue.pk])
    answer = admin_client.get(address)
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    assert answer.content.decode().lstrip().startswith('<div class="fl-far" data-address=')
    Delivery.objects.update(state="sent", sent_at=utcnow())
    assert "data-address" not in admin_client.get(address).content.decode()
    assert admin_client.get(reverse("admin:delivery_issue_progress", args=[0])).status_code == 404
    assert client.get(address).status_code == 302
    client.force_login(User.objects.create_user("bob", is_staff=True))
    assert client.get(address).status_code == 403


def test_pausing_resuming_and_cancelling_from_the_page(admin_client: Client) -> None:
    issue = IssueFactory(title="Spring")
    queued(3, issue=issue)
    assert "3 wait until you resume it." in act(admin_client, issue, "pause")
    assert states() == {"held": 3}
    assert offers(page(admin_client, issue)) == {"resume", "cancel"}
    assert "3 emails queued so far" in act(admin_client, issue, "resume")
    assert "The remaining 3 emails of “Spring” won’t be sent." in act(admin_client, issue, "cancel")
    assert states() == {"queued": 3}
    assert "The remaining 3 won’t be sent." in act(admin_client, issue, "cancel", confirmed="1")
    assert states() == {"cancelled": 3}
    assert offers(page(admin_client, issue)) == set()


def test_retrying_says_first_how_many_and_may_take_one_domain(admin_client: Client) -> None:
    issue = IssueFactory()
    queued(2, issue=issue, state="failed", domain="one.example")
    queued(1, issue=issue, state="failed", domain="two.example")
    asked = act(admin_client, issue, "retry_failed")
    assert "3 failed emails can be tried again." in asked
    assert "only one.example: 2 failed" in asked
    said = act(admin_client, issue, "retry_failed", confirmed="1", **{"with-domain": "one.example"})
    assert "2 emails queued again." in said
    assert states() == {"queued": 2, "failed": 1}


def test_late_subscribers_are_counted_and_sent_it(admin_client: Client) -> None:
    issue = IssueFactory(published_at=None)
    SubscriptionFactory(subscribable=issue.subscribable)
    publish(issue_id=issue.pk, now=utcnow() - HOUR)
    SubscriptionFactory.create_batch(2, subscribable=issue.subscribable, confirmed_at=utcnow())
    assert "2 subscribers confirmed after it was sent" in page(admin_client, issue)
    assert "will be sent to 2 subscribers" in act(admin_client, issue, "send_late")
    assert "Sending to 2 late subscribers" in act(admin_client, issue, "send_late", confirmed="1")
    assert "It was also sent to 2 late subscribers" in page(admin_client, issue)


def test_who_may_only_look_is_offered_nothing(client: Client) -> None:
    from django.contrib.auth.models import Permission

    user = User.objects.create_user("bob", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_issue"))
    client.force_login(user)
    issue = a_draft()
    assert offers(page(client, issue)) == set()
    act(client, issue, "approve", confirmed="1")
    assert not Delivery.objects.exists()


def test_the_list_names_states_and_takes_as_many_questions_for_ten_as_for_two(
    admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    for issue in (IssueFactory(), IssueFactory(published_at=None)):
        queued(1, issue=issue)
    address = reverse("admin:delivery_issue_changelist")
    admin_client.get(address)
    for _ in range(8):
        queued(1, issue=IssueFactory())
    with django_assert_max_num_queries(16):
        shown = admin_client.get(address).content.decode()
    assert "waits for approval" in shown
    assert len(admin_client.get(address, {"state": "draft"}).context["cl"].result_list) == 1


def test_the_dashboard_names_the_drafts_and_no_pause_as_trouble(admin_client: Client) -> None:
    FeedFactory()
    issue = a_draft(title="Spring")
    queued(2, issue=IssueFactory(paused_at=utcnow()), state="held", held_for="pause")
    shown = admin_client.get(reverse("admin:index")).content.decode()
    assert "waits for your approval" in shown
    assert reverse("admin:delivery_issue_change", args=[issue.pk]) in shown
    assert "held for you" not in shown
    DeliveryFactory(state="held")
    assert "1 delivery is held for you" in admin_client.get(reverse("admin:index")).content.decode()


def test_a_newsletter_is_paused_and_resumed_on_its_own_page(admin_client: Client) -> None:
    issue = IssueFactory()
    queued(2, issue=issue)
    newsletter = issue.subscribable
    given = {"action": "pause", "_selected_action": [newsletter.pk], "_on_page": str(newsletter.pk)}
    address = reverse("admin:subscriptions_subscribable_changelist")
    assert "Its emails wait" in admin_client.post(address, given).content.decode()
    answer = admin_client.post(
        address, {**given, "confirmed": "1", "with-reason": "Wrong <sender>"}, follow=True
    )
    assert "Wrong &lt;sender&gt;" in answer.content.decode()
    assert "is paused: Wrong &lt;sender&gt;" in page(admin_client, issue)
    dashboard = admin_client.get(reverse("admin:index")).content.decode()
    assert "is paused: 2 emails wait" in dashboard
    assert "Wrong &lt;sender&gt;" in dashboard
    admin_client.post(address, {**given, "action": "resume"})
    newsletter.refresh_from_db()
    assert newsletter.sending_paused_at is None


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"held_for": "", "last_error": "It may have arrived."}, "For you: nobody knows"),
        ({"held_for": "restore"}, "after_restore"),
        ({"held_for": "pause"}, "is paused: Because. Resume it"),
        ({"held_for": "domain"}, "pause has ended"),
    ],
)
def test_a_held_delivery_says_what_it_waits_for(admin_client: Client, facts: Any, words: str) -> None:
    row = DeliveryFactory(state="held", issue=IssueFactory(subscribable=SubscribableFactory()), **facts)
    pause_newsletter(subscribable_id=row.issue.subscribable_id, reason="Because.", now=utcnow())
    AttemptFactory(delivery=row, status="4.7.1", text="451 4.7.1 greylisted")
    shown = admin_client.get(reverse("admin:delivery_delivery_change", args=[row.pk])).content.decode()
    assert words in shown
    assert "451 4.7.1 greylisted" in shown
    assert ">4.7.1<" in shown


def test_the_list_of_issues_shows_emails_that_are_drafts_or_scheduled(admin_client: Client) -> None:
    newsletter = a_draft(title="Spring").subscribable
    begin_letter(subscribable=newsletter, author="ada", subject="Thank you", now=utcnow())
    shown = admin_client.get(reverse("admin:delivery_issue_changelist")).content.decode()
    assert shown.index("Thank you") < shown.index("Spring")
    assert reverse("admin:delivery_broadcast_add") in shown


def test_a_paused_issue_is_edited_on_its_page_and_the_rest_goes_out_corrected(admin_client: Client) -> None:
    issue = an_issue(published_at=utcnow(), paused_at=utcnow(), html="<p>As it was.</p>")
    queued(3, issue=issue, state="held", held_for="pause")
    queued(2, issue=issue, state="sent", sent_at=utcnow())
    shown = page(admin_client, issue)
    assert "Emails not sent yet will have the new text." in shown
    address = reverse("admin:delivery_issue_edit", args=[issue.pk])
    words = {"subject": "", "note_top": "We were wrong.", "note_foot": "", "do": "words", "shown": ""}
    said = admin_client.post(address, words, follow=True).content.decode()
    assert "The 3 emails not sent yet will have this text." in said
    assert "2 people got the first text, until" in said
    assert "We were wrong." in said
    assert dict(Delivery.objects.values_list("state", "version")) == {"held": 1, "sent": 0}
    one = object_url(Delivery.objects.filter(state="sent")[0])
    assert "the first text, until" in admin_client.get(one).content.decode()


def test_the_page_of_a_sent_issue_is_edited_hidden_and_shown_again(
    admin_client: Client, client: Client
) -> None:
    issue = an_issue(published_at=utcnow(), html="<p>As it was.</p>")
    queued(2, issue=issue, state="sent", sent_at=utcnow())
    address, there = object_url(issue), urlsplit(issue_url(issue)).path
    assert 'name="note_top"' not in page(admin_client, issue)
    assert 'name="note_top"' in admin_client.get(f"{address}?edit").content.decode()
    words = {"subject": "", "note_top": "Mended here.", "note_foot": "", "do": "words", "shown": ""}
    edit = reverse("admin:delivery_issue_edit", args=[issue.pk])
    said = admin_client.post(edit, words, follow=True).content.decode()
    assert "Its page in the archive has changed. Emails that were sent have not." in said
    assert "Mended here." in client.get(there).content.decode()
    assert "Its page is hidden." in act(admin_client, issue, "hide")
    assert client.get(there).status_code == 404
    feed = f"{there.partition('archive/')[0]}feed.xml"
    assert issue.title not in client.get(feed).content.decode()
    act(admin_client, issue, "unhide")
    assert client.get(there).status_code == 200


def test_a_correction_and_a_copy_are_begun_from_an_issue(admin_client: Client) -> None:
    letter = BroadcastFactory(subject="Fair", markdown="On Sunday.")
    SubscriptionFactory(subscribable=letter.subscribable)
    send_letter(letter_id=letter.pk, version=1, now=utcnow())
    Delivery.objects.update(state="sent", sent_at=utcnow())
    issue = Issue.objects.get()
    address = reverse("admin:delivery_issue_letter", args=[issue.pk])
    copied = admin_client.post(address, {"do": "copy"}, follow=True).content.decode()
    assert "On Sunday." in copied
    corrected = admin_client.post(address, follow=True).content.decode()
    assert "Correction: Fair" in corrected
    assert "who got “Fair”" in corrected
    begun = Broadcast.objects.latest("pk")
    send = admin_client.get(reverse("admin:delivery_broadcast_send", args=[begun.pk])).content.decode()
    assert "Only people who got" in send
    data = {"whom": "1", "got": [str(issue.pk)], "version": begun.version, "do": ""}
    admin_client.post(reverse("admin:delivery_broadcast_send", args=[begun.pk]), data)
    begun.refresh_from_db()
    assert begun.audience == {"got": {str(issue.pk): "Fair"}}


def test_a_sent_email_of_ones_own_is_edited_in_its_editor(admin_client: Client) -> None:
    letter = BroadcastFactory(subject="Fair", markdown="On Sunday.")
    SubscriptionFactory(subscribable=letter.subscribable)
    send_letter(letter_id=letter.pk, version=1, now=utcnow())
    address = f"{object_url(letter)}?edit"
    said = admin_client.get(address, follow=True).content.decode()
    assert "Pause it first, then edit it." in said
    assert "Paused." in act(admin_client, Issue.objects.get(), "pause")
    assert "On Sunday." in admin_client.get(address).content.decode()
    typed = {"subject": "Fair", "markdown": "On Saturday.", "version": "1", "do": "save"}
    said = admin_client.post(address, typed, follow=True).content.decode()
    assert "The 1 email not sent yet will have this text." in said
    assert "On Saturday." in issue_letter(Issue.objects.get()).text
    said = admin_client.post(address, typed, follow=True).content.decode()
    assert "was changed meanwhile" in said


def test_an_issue_says_why_some_of_its_emails_were_cancelled(admin_client: Client) -> None:
    issue = an_issue(published_at=utcnow())
    queued(2, issue=issue, state="cancelled", last_error="The address is suppressed.")
    queued(1, issue=issue, state="cancelled", last_error="They unsubscribed.")
    shown = page(admin_client, issue)
    assert "The address is suppressed." in shown
    assert "They unsubscribed." in shown
