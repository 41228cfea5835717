"""Editors and senders can do their work and no more, and present users keep their permissions."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from delivery.models import Broadcast, Delivery, Issue
from feedletter_site.models import Member
from feedletter_site.services.tokens import make_token
from feedletter_site.team.people import give_role
from subscriptions.collections.assign import drop_subscribable
from subscriptions.lists.reading import Terms
from subscriptions.lists.uploads import upload
from subscriptions.lists.worker import work_off_imports
from subscriptions.models import (
    Assignable,
    ListImport,
    Subscribable,
    SubscriberTag,
    Subscription,
    Suppression,
)
from tests.factories import (
    AssignmentFactory,
    BroadcastFactory,
    FeedFactory,
    FinalItemFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_issue,
)

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-pass-17"


@pytest.fixture
def newsletter() -> Subscribable:
    row: Subscribable = SubscribableFactory(title="Harbour")
    return row


def user_with(role: str, newsletters: list[Subscribable] | None = None, name: str = "bo") -> User:
    user = User.objects.create_user(name, f"{name}@example.org", PASSWORD, is_staff=True)
    give_role(user=user, role=role, newsletters=newsletters)
    return User.objects.get(pk=user.pk)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def client_with(role: str, newsletters: list[Subscribable] | None = None, name: str = "bo") -> Client:
    return signed_in(user_with(role, newsletters, name))


def a_draft(newsletter: Subscribable) -> Issue:
    SubscriptionFactory(subscribable=newsletter)
    return an_issue(subscribable=newsletter, published_at=None)


def act(client: Client, model: str, name: str, row: Any, **more: str) -> Any:
    """Press a button of a row's page, and confirm."""
    given = {"action": name, "_selected_action": row.pk, "_on_page": row.pk, "confirmed": "1", **more}
    return client.post(reverse(f"admin:{model}_changelist"), given)


def page(client: Client, model: str, row: Any, query: str = "") -> str:
    return client.get(reverse(f"admin:{model}_change", args=[row.pk]) + query).content.decode()


@pytest.mark.parametrize(("role", "is_sent"), [("editor", False), ("sender", True)])
def test_a_sender_approves_an_issue_and_an_editor_does_not(
    role: str, is_sent: bool, newsletter: Subscribable
) -> None:
    client, issue = client_with(role), a_draft(newsletter)
    assert ("Approve and send" in page(client, "delivery_issue", issue)) is is_sent
    act(client, "delivery_issue", "approve", issue)
    issue.refresh_from_db()
    assert (issue.published_at is not None) is is_sent


def test_an_editor_changes_the_words_of_a_draft(newsletter: Subscribable) -> None:
    client, issue = client_with("editor"), a_draft(newsletter)
    shown = re.search('name="shown" value="([^"]*)"', page(client, "delivery_issue", issue))
    assert shown
    words = {"do": "words", "shown": shown[1], "subject": "Mine", "note_top": "", "note_foot": ""}
    client.post(reverse("admin:delivery_issue_edit", args=[issue.pk]), words)
    issue.refresh_from_db()
    assert issue.own_subject == "Mine"


@pytest.mark.parametrize("do", ["send_now", "wait", "go"])
def test_an_editor_neither_sends_nor_holds_the_next_issue(do: str, newsletter: Subscribable) -> None:
    row = AssignmentFactory(assignable__subscribable=newsletter).assignable
    where = reverse("admin:delivery_next_issue_edit", args=[row.pk])
    assert client_with("editor").post(where, {"do": do, "confirmed": "1"}).status_code == 403
    assert Assignable.objects.get(pk=row.pk).waits is row.waits
    assert not Issue.objects.exists()
    shown = page(signed_in(User.objects.get()), "subscriptions_assignable", row)
    assert f'value="{do}"' not in shown
    assert 'value="out"' in shown


def test_a_sender_holds_the_next_issue(newsletter: Subscribable) -> None:
    row = AssignmentFactory(assignable__subscribable=newsletter).assignable
    client_with("sender").post(reverse("admin:delivery_next_issue_edit", args=[row.pk]), {"do": "wait"})
    assert Assignable.objects.get(pk=row.pk).waits


def test_an_editor_writes_an_email_and_cannot_send_it(newsletter: Subscribable) -> None:
    client = client_with("editor")
    client.post(reverse("admin:delivery_broadcast_add"), {"subscribable": newsletter.pk, "subject": "Hi"})
    letter = Broadcast.objects.get()
    desk = page(client, "delivery_broadcast", letter)
    assert 'value="save"' in desk
    assert 'value="send"' not in desk
    where = reverse("admin:delivery_broadcast_send", args=[letter.pk])
    assert client.post(where, {"do": "now", "version": letter.version}).status_code == 403
    assert not Issue.objects.exists()


def test_an_editor_does_not_unschedule(newsletter: Subscribable) -> None:
    letter = BroadcastFactory(subscribable=newsletter, send_at=utcnow())
    where = reverse("admin:delivery_broadcast_change", args=[letter.pk])
    assert client_with("editor").post(where, {"do": "edit"}).status_code == 403
    assert Broadcast.objects.get().send_at is not None


@pytest.mark.parametrize(("role", "is_paused"), [("editor", False), ("sender", True)])
def test_a_sender_pauses_a_newsletter_and_changes_no_setting(
    role: str, is_paused: bool, newsletter: Subscribable
) -> None:
    client = client_with(role)
    act(client, "subscriptions_subscribable", "pause", newsletter, **{"with-reason": "Wrong link."})
    newsletter.refresh_from_db()
    assert (newsletter.sending_paused_at is not None) is is_paused
    shown = page(client, "subscriptions_subscribable", newsletter, "?tab=settings")
    assert "tab=settings" not in shown
    assert "The same as a command" not in shown
    where = reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk])
    assert client.post(where, {"title": "Mine"}).status_code == 403


def test_an_editor_adds_and_unsubscribes_people(newsletter: Subscribable) -> None:
    client = client_with("editor", [newsletter])
    given = {"subscribable": newsletter.pk, "email_email": "eve@example.org", "is_confirmed": "on"}
    client.post(reverse("admin:subscriptions_subscription_add"), given)
    row = Subscription.objects.get()
    act(client, "subscriptions_subscription", "end", row)
    row.refresh_from_db()
    assert row.status == "unsubscribed"


def test_a_limited_editor_adds_nobody_and_writes_nothing_elsewhere(newsletter: Subscribable) -> None:
    client, other = client_with("editor", [newsletter]), SubscribableFactory(title="Mountain")
    given = {
        "subscribable": other.pk,
        "email_email": "eve@example.org",
        "is_confirmed": "on",
        "subject": "Hi",
    }
    for form in ("subscriptions_subscription_add", "delivery_broadcast_add"):
        where = reverse(f"admin:{form}")
        assert str(other) not in client.get(where).content.decode()
        client.post(where, given)
    where = reverse("admin:subscriptions_subscription_import_list")
    assert str(other) not in client.get(where).content.decode()
    assert not Subscription.objects.exists()
    assert not Broadcast.objects.exists()


def test_a_limited_editors_import_changes_nothing_outside_the_newsletter(newsletter: Subscribable) -> None:
    client, where = (
        client_with("editor", [newsletter]),
        reverse("admin:subscriptions_subscription_import_list"),
    )
    assert 'value="suppressed"' not in client.get(where).content.decode()
    text = b"email,status,tags\nada@example.org,confirmed,vip\neve@example.org,suppressed,\n"
    for status in ("", "suppressed"):
        client.post(
            where,
            {"newsletter": newsletter.pk, "status": status, "file": SimpleUploadedFile("list.csv", text)},
        )
    ours = ListImport.objects.get()
    about: dict[str, Any] = {"terms": Terms(), "by": "ada", "now": utcnow()}
    theirs = upload(subscribable=newsletter, name="all.csv", pieces=[text], **about)
    work_off_imports(budget=timedelta(minutes=1))
    act(client, "subscriptions_listimport", "run", ours)
    work_off_imports(budget=timedelta(minutes=1))
    assert dict(Subscription.objects.values_list("destination__core", "status")) == {
        "ada@example.org": "confirmed",
        "eve@example.org": "unsubscribed",
    }
    assert not Suppression.objects.exists()
    assert not SubscriberTag.objects.exists()
    assert "This newsletter only" in page(client, "subscriptions_listimport", ours)
    assert client.get(reverse("admin:subscriptions_listimport_change", args=[theirs.pk])).status_code == 404


def test_a_limited_editor_exports_only_the_own_list(newsletter: Subscribable) -> None:
    client, other = client_with("editor", [newsletter]), SubscribableFactory(title="Mountain")
    SubscriptionFactory(subscribable=other, destination__core="secret@example.org")
    where = reverse("admin:subscriptions_subscription_export_list")
    for query in ("", f"?newsletter={other.pk}"):
        shown = client.get(where + query).content.decode()
        assert "secret@example.org" not in shown
        assert str(other) not in shown
    assert "text/csv" in client.get(f"{where}?newsletter={newsletter.pk}")["Content-Type"]


def test_an_action_reaches_no_row_of_another_newsletter(newsletter: Subscribable) -> None:
    client = client_with("sender", [newsletter])
    issue = a_draft(SubscribableFactory())
    act(client, "delivery_issue", "approve", issue)
    issue.refresh_from_db()
    assert issue.published_at is None


def test_lists_and_their_filters_name_only_the_own_newsletters(newsletter: Subscribable) -> None:
    client, other = client_with("sender", [newsletter]), SubscribableFactory(title="Mountain")
    for each in (newsletter, other):
        IssueFactory(subscribable=each)
        AssignmentFactory(assignable__subscribable=each)
        SubscriptionFactory(subscribable=each)
        BroadcastFactory(subscribable=each)
        each.feeds.add(FeedFactory(title=f"Feed of {each.title}"))
    for model in ("delivery_issue", "delivery_broadcast", "subscriptions_assignable"):
        shown = client.get(reverse(f"admin:{model}_changelist")).content.decode()
        assert ("Harbour" in shown, "Mountain" in shown) == (True, False), model
    for model in ("subscriptions_subscribable", "subscriptions_subscription", "feeds_feed", "feeds_item"):
        assert "Mountain" not in client.get(reverse(f"admin:{model}_changelist")).content.decode(), model


def test_the_overview_of_a_limited_sender_names_only_the_own_newsletters(newsletter: Subscribable) -> None:
    client, other = client_with("sender", [newsletter]), SubscribableFactory(title="Mountain")
    for each in (newsletter, other):
        a_draft(each)
        each.feeds.add(FeedFactory(title=f"Feed of {each.title}", failures=3))
    shown = client.get(reverse("admin:index")).content.decode()
    assert "Harbour waits for your approval" in shown
    assert "Mountain" not in shown


def test_a_persons_other_newsletters_are_not_shown_to_a_limited_editor(newsletter: Subscribable) -> None:
    row = SubscriptionFactory(subscribable=newsletter)
    other = SubscribableFactory(title="Mountain")
    SubscriptionFactory(subscribable=other, destination=row.destination)
    client = client_with("editor", [newsletter])
    assert "Mountain" not in page(client, "subscriptions_subscription", row)
    act(client, "subscriptions_subscription", "move", row, **{"with-to": str(other.pk)})
    row.refresh_from_db()
    assert row.subscribable == newsletter


def test_who_works_for_a_deleted_newsletter_sees_none(newsletter: Subscribable) -> None:
    user, other = user_with("editor", [newsletter]), SubscribableFactory(title="Mountain")
    drop_subscribable(subscribable=newsletter, force=True, now=utcnow())
    shown = signed_in(user).get(reverse("admin:subscriptions_subscribable_changelist")).content.decode()
    assert str(other) not in shown


@pytest.mark.parametrize("role", ["editor", "sender"])
def test_nobody_raises_their_own_role(role: str) -> None:
    user = user_with(role)
    client = signed_in(user)
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    for name in ("change", "password_change"):
        where = reverse(f"admin:auth_user_{name}", args=[user.pk])
        assert client.post(where, {"role": "everything", "is_superuser": "on"}).status_code == 403
    user.refresh_from_db()
    assert not user.is_superuser
    assert Member.objects.get().role == role


def test_a_superuser_does_not_change_the_own_role(admin_client: Client, admin_user: User) -> None:
    admin_client.post(reverse("account_reauthenticate"), {"password": "password"})
    where = reverse("admin:auth_user_change", args=[admin_user.pk])
    assert 'name="role"' not in admin_client.get(where).content.decode()
    given = {"username": "admin", "email": "a@example.org", "is_active": "on", "is_staff": "on"}
    assert admin_client.post(where, {**given, "role": "editor"}).status_code == 302
    admin_user.refresh_from_db()
    assert admin_user.is_superuser
    assert not Member.objects.exists()


def test_a_superuser_changes_the_role_of_somebody(admin_client: Client, newsletter: Subscribable) -> None:
    user = user_with("editor")
    admin_client.post(reverse("account_reauthenticate"), {"password": "password"})
    where = reverse("admin:auth_user_change", args=[user.pk])
    given = {"username": "bo", "email": "bo@example.org", "is_active": "on", "is_staff": "on"}
    limits = {"role": "sender", "is_limited": "on", "newsletters": [newsletter.pk]}
    assert admin_client.post(where, {**given, **limits}).status_code == 302
    member = Member.objects.get()
    assert (member.role, member.is_limited, list(member.newsletters.all())) == ("sender", True, [newsletter])
    assert admin_client.post(where, {**given, "role": "everything"}).status_code == 302
    user.refresh_from_db()
    assert user.is_superuser
    refused = admin_client.post(where, {**given, **limits, "newsletters": []})
    assert "Choose at least one newsletter." in refused.content.decode()


def test_present_staff_keep_their_permissions_and_stay_as_they_were(admin_client: Client) -> None:
    user = User.objects.create_user("old", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["change_issue", "view_delivery"]))
    assert user.has_perm("delivery.change_issue")
    assert user.has_perm("delivery.draft_issue")
    assert not User.objects.get(pk=user.pk).has_perm("subscriptions.draft_assignable")
    admin_client.post(reverse("account_reauthenticate"), {"password": "password"})
    kept = [str(each.pk) for each in user.user_permissions.all()]
    given = {"username": "old", "is_active": "on", "is_staff": "on", "role": "", "user_permissions": kept}
    where = reverse("admin:auth_user_change", args=[user.pk])
    assert admin_client.post(where, given).status_code == 302
    assert User.objects.get(pk=user.pk).user_permissions.count() == 2


def test_who_may_no_longer_sign_in_has_no_permission() -> None:
    user = user_with("editor")
    assert user.has_perm("delivery.draft_issue")
    User.objects.update(is_active=False)
    assert not User.objects.get().has_perm("delivery.draft_issue")


def test_the_api_refuses_limited_users_and_their_tokens(newsletter: Subscribable) -> None:
    user = user_with("sender", [newsletter])
    scopes = ["sending:read", "newsletters:read"]
    _, key = make_token(name="shop", scopes=scopes, now=utcnow(), made_by=user)
    for address in ("/api/v1/issues/", "/api/v1/subscribables/"):
        assert signed_in(user).get(address).status_code == 403
        assert Client().get(address, headers={"Authorization": f"Bearer {key}"}).status_code == 403


@pytest.mark.parametrize("role", ["editor", "sender"])
def test_the_mailbox_is_closed_to_roles(role: str, settings: Any) -> None:
    settings.EMBEDDED = True
    assert client_with(role).get(reverse("delivery:mailbox")).status_code == 403


def test_an_editor_sends_nothing_by_the_api(newsletter: Subscribable) -> None:
    client, issue = client_with("editor"), a_draft(newsletter)
    assert client.post(f"/api/v1/issues/{issue.pk}/approve/").status_code == 403
    issue.refresh_from_db()
    assert issue.published_at is None


def test_the_secrets_of_a_feed_are_not_shown_to_an_editor(newsletter: Subscribable) -> None:
    feed = FeedFactory(credentials={"user": "ada", "password": "hush-hush"})
    newsletter.feeds.add(feed)
    assert "hush-hush" not in page(client_with("editor", [newsletter]), "feeds_feed", feed)


def test_shared_feeds_and_posts_do_not_name_other_newsletters(newsletter: Subscribable) -> None:
    other, feed = SubscribableFactory(title="Mountain"), FeedFactory()
    for each in (newsletter, other):
        each.feeds.add(feed)
    item = FinalItemFactory(feed=feed, state="assigned")
    AssignmentFactory(assignable__subscribable=other, item=item)
    ListImport.objects.create(subscribable=other, file_name="secret.csv")
    client, owner = client_with("sender", [newsletter]), client_with("everything", name="owner")
    for model, row in (("feeds_feed", feed), ("feeds_item", item)):
        assert "Mountain" in page(owner, model, row)
        assert "Mountain" not in page(client, model, row)
    where = reverse("admin:subscriptions_subscription_import_list")
    assert "secret.csv" in owner.get(where).content.decode()
    assert "secret.csv" not in client.get(where).content.decode()


def test_a_limited_sender_reaches_nobody_of_another_newsletter(newsletter: Subscribable) -> None:
    client, other = client_with("sender", [newsletter]), SubscribableFactory(title="Not Theirs")
    SubscriptionFactory(subscribable=newsletter)
    theirs = SubscriptionFactory(subscribable=other)
    letter = BroadcastFactory(subscribable=newsletter, subject="Fair", markdown="On Sunday.")
    address = reverse("admin:delivery_broadcast_send", args=[letter.pk])
    assert "Not Theirs" not in client.get(address).content.decode()
    chosen = {"whom": "1", "others": [other.name], "version": letter.version, "do": "now"}
    client.post(address, chosen)
    assert Delivery.objects.count() == 1
    # Nor if somebody else chose it.
    letter = BroadcastFactory(subscribable=newsletter, subject="Fair", markdown="On Sunday.")
    address = reverse("admin:delivery_broadcast_send", args=[letter.pk])
    Broadcast.objects.filter(pk=letter.pk).update(audience={"others": {str(other.pk): "Not Theirs"}})
    said = client.post(address, {"version": letter.version, "do": "now"}).content.decode()
    assert "a newsletter that isn’t yours" in said
    assert not Delivery.objects.filter(destination=theirs.destination).exists()
