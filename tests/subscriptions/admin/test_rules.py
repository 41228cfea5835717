"""Rules for posts on a newsletter's page."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from subscriptions.collections.post_rules import add_rule
from subscriptions.models import FailedAssignment, LeftOut, PostRule, Subscribable
from tests.factories import FinalItemFactory, SubscribableFactory, an_entry
from tests.feeds.documents import a_feed_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def weekly() -> Subscribable:
    entries = [an_entry(number, title=title) for number, title in enumerate(("Ad: honey", "Bees"))]
    made: Subscribable = SubscribableFactory(name="weekly", title="Weekly", feeds=[a_feed_of(entries)])
    return made


def url(subscribable: Subscribable) -> str:
    return reverse("admin:subscriptions_subscribable_change", args=[subscribable.pk]) + "?tab=settings"


def form_of(page: Any) -> dict[str, Any]:
    """Return the data that a browser posts for the unchanged page."""
    form = page.context["adminform"].form
    data = {name: form[name].value() for name in form.fields}
    data = {name: value for name, value in data.items() if value not in (None, False)}
    data["params"] = ""
    for formset in page.context["inline_admin_formsets"]:
        management = formset.formset.management_form
        data |= {management[name].html_name: management[name].value() for name in management.fields}
        for row in formset.formset.initial_forms:
            values = {row[name].html_name: row[name].value() for name in row.fields if name != "DELETE"}
            data |= {name: value for name, value in values.items() if value not in (None, False)}
    return data


def a_row(number: int, **changes: str) -> dict[str, str]:
    row = {"action": "drop", "field": "title", "test": "contains", "pattern": "ad:", "active": "on"}
    return {f"post_rules-{number}-{name}": value for name, value in {**row, **changes}.items()}


def saved(client: Client, subscribable: Subscribable, **changes: str) -> Any:
    data = form_of(client.get(url(subscribable)))
    return client.post(url(subscribable), {**data, **changes, "_continue": "1"}, follow=True)


def test_a_rule_is_added_and_the_page_shows_what_it_does(admin_client: Client, weekly: Subscribable) -> None:
    page = saved(admin_client, weekly, **{"post_rules-TOTAL_FORMS": "1"}, **a_row(0))
    assert [str(rule) for rule in weekly.post_rules.all()] == ["Leave out posts whose title contains “ad:”."]
    text = page.content.decode()
    assert "Leave out posts whose title contains “ad:”." in text
    assert "Of the newest 2 posts in its feeds it would take 1." in text
    assert "Its title contains “ad:”." in text


@pytest.mark.slow
def test_new_rules_come_last_and_others_are_changed_and_taken_away(
    admin_client: Client, weekly: Subscribable
) -> None:
    first, second = (
        add_rule(subscribable=weekly, action="drop", field="title", pattern=word) for word in ("one", "two")
    )
    saved(
        admin_client,
        weekly,
        **{"post_rules-TOTAL_FORMS": "3", "post_rules-0-DELETE": "on", "post_rules-1-pattern": "zwei"},
        **a_row(2, pattern="three"),
    )
    assert not PostRule.objects.filter(pk=first.pk).exists()
    assert [rule.pattern for rule in weekly.post_rules.all()] == ["zwei", "three"]
    assert weekly.post_rules.get(pk=second.pk).pattern == "zwei"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"test": "matches", "pattern": "(a+)+$"}, "It can take too long"),
        ({"test": "matches", "pattern": "(a"}, "no regular expression"),
        ({"action": "replace", "field": "link"}, "only in the title and the content"),
    ],
)
def test_a_rule_that_could_not_work_is_refused_in_its_row(
    admin_client: Client, weekly: Subscribable, changes: dict[str, str], error: str
) -> None:
    page = saved(admin_client, weekly, **{"post_rules-TOTAL_FORMS": "1"}, **a_row(0, **changes))
    assert error in page.content.decode()
    assert not PostRule.objects.exists()


@pytest.mark.slow
def test_code_that_may_not_be_loaded_is_refused_with_a_sentence(
    admin_client: Client, weekly: Subscribable
) -> None:
    page = saved(admin_client, weekly, hooks="os.path")
    assert "may not be loaded: no module may" in page.content.decode()
    weekly.refresh_from_db()
    assert weekly.hooks == ""


def test_the_page_tells_of_rules_in_trouble_of_what_waits_and_of_what_was_left_out(
    admin_client: Client, weekly: Subscribable
) -> None:
    add_rule(subscribable=weekly, action="drop", pattern="x")
    PostRule.objects.update(trouble="It takes too long.", trouble_at="2026-03-02T12:00Z")
    item = FinalItemFactory(feed=weekly.feeds.get(), title="The stuck one")
    FailedAssignment.objects.create(item=item, failures=1, last_error="The hook x.filter failed.")
    LeftOut.objects.create(subscribable=weekly, item=item, reason="its title contains “x”")
    overview = reverse("admin:subscriptions_subscribable_change", args=[weekly.pk])
    text = "".join(admin_client.get(where).content.decode() for where in (overview, url(weekly)))
    for words in (
        "It takes too long.",
        "The hook x.filter failed.",
        "its title contains “x”.",
        "The stuck one",
    ):
        assert words in text


@pytest.mark.slow
def test_a_newsletter_without_rules_has_no_panels_for_them(
    admin_client: Client, weekly: Subscribable
) -> None:
    text = admin_client.get(url(weekly)).content.decode()
    for title in ("What its rules do", "Left out lately", "Posts that wait"):
        assert title not in text


@pytest.mark.slow
def test_a_broken_hook_does_not_break_the_page(
    admin_client: Client, weekly: Subscribable, settings: Any
) -> None:
    settings.HOOK_MODULES = ["tests.own_code"]
    for name in ("fails", "contents_fail", "subject_fails", "gone"):
        Subscribable.objects.update(hooks=f"tests.own_code.{name}")
        page = admin_client.get(url(weekly))
        assert page.status_code == 200
        assert f"tests.own_code.{name}" in page.content.decode()


def test_who_may_only_look_at_newsletters_changes_no_rules(client: Client, weekly: Subscribable) -> None:
    add_rule(subscribable=weekly, action="drop", pattern="x")
    user = User.objects.create_user("bob", password="x", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_subscribable"))
    client.force_login(user)
    page = client.get(url(weekly))
    assert "Leave out posts in which anything contains “x”." in page.content.decode()
    assert not any(each.has_add_permission for each in page.context["inline_admin_formsets"])
    assert client.post(url(weekly), {}).status_code == 403
