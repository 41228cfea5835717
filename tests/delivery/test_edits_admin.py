"""An editor changes the next issue, a draft, and settling posts on their pages."""

from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from common.admin.html import object_url
from common.admin.refusals import NO_ADDRESS
from common.clock import utcnow
from delivery.issues.complete import complete_due
from delivery.models import Delivery, Issue
from feeds.models import Item
from subscriptions.collections.proposals import propose
from subscriptions.models import Assignable, Subscribable
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect, open_collection
from tests.examples import some_now
from tests.factories import DeliveryFactory, ItemFactory

pytestmark = pytest.mark.django_db
NOTE = "A note that took an hour"
OF_A_POST = ("up", "down", "out", "back")


def page(client: Client, row: Any) -> str:
    return str(client.get(object_url(row)).content.decode())


def act(client: Client, row: Any, do: str, **data: Any) -> str:
    name = {Assignable: "next_issue", Issue: "issue"}.get(type(row), "settling")
    place = reverse(f"admin:delivery_{name}_edit", args=[row.pk])
    return str(client.post(place, {"do": do, **data}, follow=True).content.decode())


def a_collection(posts: int = 2, **changes: Any) -> tuple[Assignable, list[Item]]:
    subscribable = a_newsletter(**changes)
    items = collect(subscribable, posts)
    return open_collection(subscribable), items[::-1]


def test_its_page_shows_the_letter_as_it_stands_and_what_can_be_done(admin_client: Client) -> None:
    collection, (first, second) = a_collection()
    shown = page(admin_client, collection)
    assert "srcdoc=" in shown
    assert shown.index(first.title) < shown.index(second.title)
    assert f"Leave out “{first.title}”" in shown
    assert f"Move “{first.title}” up" not in shown
    assert "Send now" in shown
    assert "Hold for approval" in shown
    assert "Undo" not in shown


def test_leaving_out_says_so_there_and_on_the_posts_page_and_is_undone(admin_client: Client) -> None:
    collection, (first, _) = a_collection()
    shown = act(admin_client, collection, "out", post=first.pk)
    assert f"“{first.title}” is left out." in shown
    assert f"Put back “{first.title}”" in shown
    assert f"Undo leaving out “{first.title}”" in shown
    assert "Left out by an editor on" in page(admin_client, first)
    assert "1 post, 1 left out" in page(admin_client, collection.subscribable)
    assert f"Undone: leaving out “{first.title}”." in act(admin_client, collection, "undo")
    assert "Left out by an editor on" not in page(admin_client, first)


def test_a_move_leads_back_to_the_button(admin_client: Client) -> None:
    collection, (_, second) = a_collection(2)
    place = reverse("admin:delivery_next_issue_edit", args=[collection.pk])
    answer = admin_client.post(place, {"do": "up", "post": second.pk})
    assert answer.headers["Location"].endswith(f"?moved={second.pk}-up")
    shown = admin_client.get(answer.headers["Location"]).content.decode()
    assert f"Move “{second.title}” down” autofocus" in shown.replace('"', "”")
    assert "Reset order" in shown


def test_words_are_saved_and_what_is_refused_is_not_lost(admin_client: Client) -> None:
    collection, _ = a_collection()
    shown = act(admin_client, collection, "words", subject="Spring", note_top="Hi *all*", note_foot="")
    assert "Saved." in shown
    assert "&lt;em&gt;all&lt;/em&gt;" in shown
    long = act(admin_client, collection, "words", subject="x" * 201, note_top="Kept for you", note_foot="")
    assert "Kept for you" in long
    Assignable.objects.update(seal_token="9b2b6a1e-0d5c-4c5b-8f0e-3d5f7c1f2a11", seal_until=MIDNIGHT)
    late = act(admin_client, collection, "words", subject="", note_top="Typed late", note_foot="")
    assert "nothing was changed" in late
    assert "Typed late" in late


def test_sending_now_says_first_to_how_many_and_leads_to_the_issue(admin_client: Client) -> None:
    collection, _ = a_collection()
    assert "This sends 2 posts to 2 subscribers of" in act(admin_client, collection, "send_now")
    assert not Delivery.objects.exists()
    shown = act(admin_client, collection, "send_now", confirmed="1")
    assert "This issue is being sent." in shown
    assert Delivery.objects.count() == 2
    assert "Result" in shown
    assert "Not saved. This issue was sent" in act(admin_client, collection, "undo")


def test_sending_now_says_what_will_be_different(admin_client: Client) -> None:
    collection, _ = a_collection()
    assert "will be sent at the usual time" in act(admin_client, collection, "send_now")
    Subscribable.objects.update(sending_paused_at=MIDNIGHT)
    assert "the emails wait until you resume it" in act(admin_client, collection, "send_now")
    assert "It waits because the newsletter" in act(admin_client, collection, "send_now", confirmed="1")


def test_one_that_cannot_be_made_says_why_and_stays(admin_client: Client) -> None:
    collection, _ = a_collection()
    Subscribable.objects.update(template="that was deleted")
    shown = act(admin_client, collection, "send_now", confirmed="1")
    assert "We couldn’t make this issue yet and will try again." in shown
    assert Assignable.objects.filter(pk=collection.pk).exists()


def test_what_has_gone_out_meanwhile_is_not_changed(admin_client: Client) -> None:
    collection, (first, _) = a_collection()
    complete_due(clock=lambda: MIDNIGHT)
    place = reverse("admin:delivery_next_issue_edit", args=[collection.pk])
    shown = admin_client.post(place, {"do": "out", "post": first.pk}, follow=True).content.decode()
    assert "Not saved. This issue was sent" in shown
    assert admin_client.get(place).status_code == 404


@pytest.mark.parametrize("name", ["issue", "settling"])
def test_what_is_not_there_is_not_edited(admin_client: Client, name: str) -> None:
    place = reverse(f"admin:delivery_{name}_edit", args=[404])
    assert admin_client.post(place, {"do": "out"}).status_code == 404


def test_only_what_there_is_to_do_is_done_and_a_look_leads_back(admin_client: Client) -> None:
    collection, _ = a_collection()
    place = reverse("admin:delivery_next_issue_edit", args=[collection.pk])
    assert admin_client.post(place, {"do": "dance"}).status_code == 405
    assert admin_client.get(place).headers["Location"] == object_url(collection)


def test_a_test_needs_an_address_of_whoever_asks(admin_client: Client) -> None:
    User.objects.update(email="")
    collection, _ = a_collection()
    assert escape(NO_ADDRESS) in act(admin_client, collection, "test")
    assert not Delivery.objects.exists()


def test_one_that_waits_says_so_and_goes_by_itself_again(admin_client: Client) -> None:
    collection, _ = a_collection()
    assert "It will wait for your approval" in act(admin_client, collection, "wait")
    assert "Then it waits for your approval." in page(admin_client, collection)
    assert "It will be sent on schedule." in act(admin_client, collection, "go")


def test_a_test_is_of_what_is_collected(admin_client: Client) -> None:
    User.objects.update(email="ada@example.org")
    collection, _ = a_collection()
    act(admin_client, collection, "test")
    assert Delivery.objects.get(kind="test").context["collection"] == collection.pk


def test_a_draft_is_edited_on_its_page(admin_client: Client) -> None:
    items = collect(a_newsletter(approval="click"), 2)
    complete_due(clock=lambda: MIDNIGHT)
    issue = Issue.objects.get()
    assert "Note above the posts" in page(admin_client, issue)
    shown = act(admin_client, issue, "out", post=items[0].pk)
    assert f"Put back “{items[0].title}”" in shown
    assert "Saved" in act(admin_client, issue, "words", subject="Mine", note_top="", note_foot="")
    assert "Undone: the change of words." in act(admin_client, issue, "undo")
    assert "discard or cancel the issue" in act(admin_client, issue, "out", post=items[1].pk)
    Issue.objects.update(published_at=MIDNIGHT)
    DeliveryFactory(issue=issue)
    assert "Pause it first" in act(admin_client, issue, "up", post=items[1].pk)
    assert f"Left out by an editor: {items[0].title}." in page(admin_client, issue)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"arrangement": "each"}, "Each post is sent on its own once it settles."),
        ({"arrangement": "every_n", "n": 3, "max_wait_days": 7}, "as soon as it has 3 posts. After 7 days"),
        ({"arrangement": "weekly"}, "is sent on its day at 0:00, UTC"),
        ({"arrangement": "cron", "cron": "0 7 * * 1"}, "Monday at 7:00"),
    ],
)
def test_a_newsletter_says_what_its_next_issue_is(
    admin_client: Client, facts: dict[str, Any], said: str
) -> None:
    assert said in page(admin_client, a_newsletter(**facts))


def test_a_post_that_waits_to_settle_is_left_out_of_a_newsletter_of_single_posts(
    admin_client: Client,
) -> None:
    newsletter = a_newsletter("each")
    item = ItemFactory(feed=newsletter.feeds.get())
    assert f"Leave out “{item.title}”" in page(admin_client, newsletter)
    act(admin_client, newsletter, "out", post=item.pk)
    assert f"Put back “{item.title}”" in page(admin_client, newsletter)
    assert "Left out by an editor on" in page(admin_client, item)
    act(admin_client, newsletter, "back", post=item.pk)
    assert f"Leave out “{item.title}”" in page(admin_client, newsletter)


def test_a_newsletters_preview_is_what_is_collected(admin_client: Client) -> None:
    collection, (first, second) = a_collection()
    act(admin_client, collection, "out", post=second.pk)
    place = reverse("admin:subscriptions_subscribable_change", args=[collection.subscribable.pk])
    shown = admin_client.get(f"{place}?tab=look").content.decode()
    letter = shown[shown.index("srcdoc=") :].partition("</iframe>")[0]
    assert "The next issue, as it would be sent now." in shown
    assert first.title in letter
    assert second.title not in letter


def test_who_may_only_look_finds_no_buttons_and_is_refused(client: Client) -> None:
    from django.contrib.auth.models import Permission

    user = User.objects.create_user("eve", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client.force_login(user)
    collection, (first, _) = a_collection()
    shown = page(client, collection)
    assert first.title in shown
    assert "Leave out" not in shown
    place = reverse("admin:delivery_next_issue_edit", args=[collection.pk])
    assert client.post(place, {"do": "out", "post": first.pk}).status_code == 403


def parsed(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html.parser")


def of_the_form(html: str, tag: str) -> list[Any]:
    """Return the elements of the issue's form, wherever they are on the page."""
    return list(parsed(html).select(f"#fl-edit {tag}, {tag}[form=fl-edit]"))


def shown_words(client: Client, row: Any, **typed: str) -> dict[str, str]:
    """Return the posted data of a row's page, with these changes."""
    html = page(client, row)
    fields = {each["name"]: str(each.get("value", "")) for each in of_the_form(html, "input")}
    fields |= {each["name"]: each.text.strip() for each in of_the_form(html, "textarea")}
    assert set(typed) <= set(fields)
    return {**fields, **typed}


@pytest.mark.parametrize(
    "do", some_now([*OF_A_POST, "usual", "wait", "go", "undo", "test", "send_now"], every=3)
)
def test_no_button_of_the_next_issue_loses_what_was_typed(admin_client: Client, do: str) -> None:
    User.objects.update(email="ada@example.org")
    collection, (first, second, third) = a_collection(3)
    act(admin_client, collection, "out", post=third.pk)
    post = {"up": second, "back": third}.get(do, first)
    typed = shown_words(admin_client, collection, note_top=NOTE)
    shown = act(admin_client, collection, do, **typed, post=post.pk)
    collection.refresh_from_db()
    assert collection.note_top == NOTE
    assert "Your text is saved." in shown


@pytest.mark.parametrize("do", some_now([*OF_A_POST, "undo"], every=3))
def test_no_button_of_a_draft_loses_what_was_typed(admin_client: Client, do: str) -> None:
    issue, (first, second, third) = a_draft(3)
    act(admin_client, issue, "out", post=third.pk)
    post = {"up": second, "back": third}.get(do, first)
    act(admin_client, issue, do, **shown_words(admin_client, issue, note_foot=NOTE), post=post.pk)
    issue.refresh_from_db()
    assert issue.note_foot == NOTE


def a_draft(posts: int = 2) -> tuple[Issue, list[Item]]:
    items = collect(a_newsletter(approval="click"), posts)
    complete_due(clock=lambda: MIDNIGHT)
    return Issue.objects.get(), items[::-1]


@pytest.mark.parametrize("action", ["approve", "release", "discard", "send_test"])
def test_no_action_of_a_draft_loses_what_was_typed(admin_client: Client, action: str) -> None:
    User.objects.update(email="ada@example.org")
    issue, _ = a_draft()
    typed = shown_words(admin_client, issue, note_top=NOTE)
    assert typed["_on_page"] == str(issue.pk)
    place = reverse("admin:delivery_issue_changelist")
    answer = admin_client.post(place, {**typed, "action": action, "confirmed": "1"}, follow=True)
    issue.refresh_from_db()
    assert issue.note_top == NOTE, answer.content.decode()[:500]
    if action == "approve":
        assert issue.published_at is not None
        assert NOTE in issue.html


def test_enter_in_a_field_saves_the_words_whatever_buttons_come_before(admin_client: Client) -> None:
    issue, _ = a_draft()
    collection, _ = a_collection()
    for row in (issue, collection):
        first = of_the_form(page(admin_client, row), "button")[0]
        assert (first["name"], first["value"]) == ("do", "words")


def test_words_that_cannot_be_saved_stop_the_button_and_are_shown(admin_client: Client) -> None:
    collection, (first, _) = a_collection()
    typed = shown_words(admin_client, collection, subject="x" * 201, note_top=NOTE)
    shown = act(admin_client, collection, "out", **typed, post=first.pk)
    assert "We couldn’t save your text yet, so nothing was done." in shown
    assert NOTE in shown
    assert not collection.assignments.filter(left_out_at__isnull=False).exists()


@pytest.mark.parametrize("make", [lambda: a_collection()[0], lambda: a_draft()[0]], ids=["next", "draft"])
def test_two_windows_lose_nothing_of_one_another(admin_client: Client, make: Any) -> None:
    row = make()
    mine = shown_words(admin_client, row, note_top="Mine\r\nin two lines")
    other = shown_words(admin_client, row, subject="Theirs", note_foot="Theirs, too")
    act(admin_client, row, "words", **other)
    act(admin_client, row, "words", **mine)
    saved = shown_words(admin_client, row)
    assert (saved["subject"], saved["note_foot"]) == ("Theirs", "Theirs, too")
    assert saved["note_top"].split() == ["Mine", "in", "two", "lines"]


def test_the_same_note_typed_in_two_windows_is_asked_about(admin_client: Client) -> None:
    collection, _ = a_collection()
    mine = shown_words(admin_client, collection, note_top="Mine")
    act(admin_client, collection, "words", **shown_words(admin_client, collection, note_top="Theirs"))
    shown = act(admin_client, collection, "words", **mine)
    assert "Somebody else has changed the note above the posts, too. It is now: “Theirs”" in shown
    form = parsed(shown)
    assert form.select("textarea[name=note_top]")[0].text.strip() == "Mine"
    collection.refresh_from_db()
    assert collection.note_top == "Theirs"
    again = {"shown": str(form.select("input[name=shown]")[0]["value"]), "note_top": "Mine"}
    act(admin_client, collection, "words", subject="", note_foot="", **again)
    collection.refresh_from_db()
    assert collection.note_top == "Mine"


def test_only_the_edit_that_the_button_named_is_undone(admin_client: Client) -> None:
    collection, (first, second, _) = a_collection(3)
    act(admin_client, collection, "out", post=first.pk)
    mine = shown_words(admin_client, collection)
    act(admin_client, collection, "out", post=second.pk)
    shown = act(admin_client, collection, "undo", **mine)
    assert f"The latest change is leaving out “{second.title}”." in shown
    assert collection.assignments.filter(left_out_at__isnull=False).count() == 2


def test_words_typed_while_it_became_a_draft_are_in_the_draft(admin_client: Client) -> None:
    collection, (first, _) = a_collection(approval="click")
    typed = shown_words(admin_client, collection, note_top=NOTE)
    complete_due(clock=lambda: MIDNIGHT)
    place = reverse("admin:delivery_next_issue_edit", args=[collection.pk])
    shown = admin_client.post(place, {"do": "down", "post": first.pk, **typed}, follow=True).content.decode()
    assert "This issue has become a draft. Your text was saved there." in shown
    assert Issue.objects.get().note_top == NOTE


def test_words_typed_while_it_went_out_are_shown(admin_client: Client) -> None:
    collection, _ = a_collection()
    typed = shown_words(admin_client, collection, note_top=NOTE)
    complete_due(clock=lambda: MIDNIGHT)
    place = reverse("admin:delivery_next_issue_edit", args=[collection.pk])
    shown = admin_client.post(place, {"do": "words", **typed}).content.decode()
    assert "Not saved. This issue was sent" in shown
    assert NOTE in shown


def test_where_the_letter_cannot_be_made_its_words_are_saved_all_the_same(admin_client: Client) -> None:
    collection, _ = a_collection()
    Subscribable.objects.update(template="that was deleted")
    act(admin_client, collection, "words", **shown_words(admin_client, collection, note_top=NOTE))
    collection.refresh_from_db()
    assert collection.note_top == NOTE


def test_words_typed_while_a_draft_went_out_are_shown(admin_client: Client) -> None:
    issue, _ = a_draft()
    typed = shown_words(admin_client, issue, note_top=NOTE)
    untouched = shown_words(admin_client, issue)
    place = reverse("admin:delivery_issue_changelist")
    admin_client.post(place, {**untouched, "action": "approve", "confirmed": "1"})
    shown = admin_client.post(place, {**typed, "action": "approve", "confirmed": "1"}, follow=True)
    assert NOTE in shown.content.decode()
    assert "nothing was done" in shown.content.decode()
    again = admin_client.post(place, {**untouched, "action": "approve", "confirmed": "1"}, follow=True)
    assert "Save text" not in again.content.decode()


def test_a_proposal_says_who_made_it_and_waits_for_a_click(admin_client: Client) -> None:
    collection, (first, second) = a_collection()
    words = {"note_top": "Good <b>morning</b>"}
    newsletter, order = collection.subscribable, [second.pk, first.pk]
    propose(subscribable=newsletter, by="assistant (laptop)", order=order, words=words, now=utcnow())
    shown = page(admin_client, collection)
    assert "Proposed by assistant (laptop)" in shown
    assert "Good &lt;b&gt;morning&lt;/b&gt;" in shown
    collection.refresh_from_db()
    at = (collection.proposal or {})["at"]
    assert "was replaced or is gone" in act(admin_client, collection, "use", proposal="before")
    assert "is used." in act(admin_client, collection, "use", proposal=at)
    collection.refresh_from_db()
    assert (collection.note_top, collection.proposal) == (words["note_top"], None)
    assert "Proposed by" not in page(admin_client, collection)
