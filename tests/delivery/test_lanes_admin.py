"""The pages of lanes and mail accounts.

DKIM keys in the admin: two fields to create one, its DNS record, and key rotation.
"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from delivery.accounts.accounts import add_account
from delivery.accounts.dkim_keys import make_key, retire_key
from delivery.lanes.shares import take_share
from delivery.models import Account, Delivery, DkimKey, Lane, LaneDomain, LaneUse
from delivery.rules.limits import minute_of
from tests.delivery.ledger import a_lane, queued
from tests.factories import NOW, SubscribableFactory
from tests.servers.smtp_server import SmtpServer
from tests.site.test_admin_journey import act, submit, text

pytestmark = pytest.mark.django_db
URL = "smtp://ada:s3cret@127.0.0.1:2"


def lane_page(lane: Lane) -> str:
    return reverse("admin:delivery_lane_change", args=[lane.pk])


def shown(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def filled(client: Client, lane: Lane, **changes: str) -> dict[str, str]:
    """Return the posted data of the lane's form, with changes."""
    response: Any = client.get(lane_page(lane))
    posted: dict[str, str] = {}
    forms = [response.context["adminform"].form]
    for inline in response.context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.forms]
    for form in forms:
        for bound in form:
            value = bound.value()
            posted[bound.html_name] = "" if value is None else str(value)
    return {**posted, **changes}


def save(client: Client, lane: Lane, **changes: str) -> Any:
    return client.post(lane_page(lane), filled(client, lane, **changes))


def test_limits_are_changed_and_nothing_else(admin_client: Client) -> None:
    lane = a_lane(tokens=7)
    assert save(admin_client, lane, rate="2.5", per_hour="500", per_day="4000").status_code == 302
    lane.refresh_from_db()
    assert (lane.rate, lane.per_hour, lane.per_day, lane.tokens) == (2.5, 500, 4000, 7)


def test_a_limit_that_cannot_be_is_refused_at_its_field(admin_client: Client) -> None:
    lane = a_lane()
    answer = save(admin_client, lane, per_hour="500", per_day="400")
    assert "This is more than the limit for 24 hours." in answer.content.decode()
    lane.refresh_from_db()
    assert lane.per_hour is None


def test_the_page_shows_what_was_used_and_who_sends(admin_client: Client) -> None:
    lane = a_lane(per_hour=500, per_day=4000)
    now = timezone.now()
    LaneUse.objects.create(lane=lane, minute=minute_of(now), count=340)
    LaneUse.objects.create(lane=lane, minute=minute_of(now - timedelta(hours=5)), count=1000)
    take_share(lane.pk, uuid4(), now)
    page = shown(admin_client, lane_page(lane))
    assert "<b>340</b> of 500 in the last hour" in page
    assert "<b>1,340</b> of 4,000 in the last 24 hours" in page
    assert "1,340 messages in 24 hours, 1,000 at most in half an hour." in page
    assert "Connections of 10" in page


def test_the_coming_days_of_a_warm_up_are_a_table(admin_client: Client) -> None:
    lane = a_lane(warm_up_from=timezone.localdate(), warm_up_first=50, warm_up_growth=2, per_day=300)
    page = shown(admin_client, lane_page(lane))
    assert all(f">{count}</td>" in page for count in (50, 100, 200))
    assert ">400</td>" not in page
    assert "the warm-up no longer limits sending" in page
    assert "warming up" in page


def test_a_lane_without_limits_says_so(admin_client: Client) -> None:
    page = shown(admin_client, lane_page(a_lane()))
    assert "Messages are counted once there is a limit" in page
    assert "Coming days" not in page


def inline(number: int, **values: str) -> dict[str, str]:
    return {f"domains-{number}-{name}": value for name, value in values.items()}


def test_a_domain_gets_limits_other_limits_and_none(admin_client: Client) -> None:
    lane = a_lane()
    usual = {"burst": "10", "warm_up_first": "50", "warm_up_growth": "1.5", "id": "", "lane": str(lane.pk)}
    new = inline(0, domain="@Gmail.com", per_hour="20", **usual)
    save(admin_client, lane, **{"domains-TOTAL_FORMS": "1"}, **new)
    row = LaneDomain.objects.get()
    assert (row.domain, row.per_hour, row.rate) == ("gmail.com", 20, None)
    (late,) = queued(lane=lane, domain="gmail.com", due_at="2099-01-01T00:00Z")
    save(admin_client, lane, **inline(0, per_hour="30", rate="0.5"))
    row.refresh_from_db()
    late.refresh_from_db()
    assert (row.per_hour, row.rate) == (30, 0.5)
    assert late.due_at.year < 2099
    save(admin_client, lane, **inline(0, DELETE="on"))
    assert not LaneDomain.objects.exists()


def test_what_is_no_domain_is_refused(admin_client: Client) -> None:
    lane = a_lane()
    new = inline(0, domain="no domain", burst="10", warm_up_first="50", warm_up_growth="1.5")
    answer = save(admin_client, lane, **{"domains-TOTAL_FORMS": "1"}, **new)
    assert "“no domain” isn’t a domain" in answer.content.decode()
    assert not LaneDomain.objects.exists()


def act_on(client: Client, model: str, action: str, *keys: int, **answers: str) -> str:
    posted: dict[str, Any] = {"action": action, "_selected_action": list(keys)}
    posted |= {"confirmed": "1"} | {f"with-{name}": value for name, value in answers.items()}
    answer = client.post(reverse(f"admin:delivery_{model}_changelist"), posted, follow=True)
    return answer.content.decode()


def test_a_domain_is_paused_and_what_it_held_is_queued_when_it_is_resumed(admin_client: Client) -> None:
    lane = a_lane()
    (row,) = queued(lane=lane, domain="gmail.com", state="held", held_for="domain")
    said = act_on(admin_client, "lane", "pause_domain", lane.pk, domain="gmail.com", reason="They block us")
    assert "Nothing is sent to gmail.com until you resume it." in said
    assert "Paused. They block us" in shown(admin_client, lane_page(lane))
    said = act_on(admin_client, "lane", "resume_domain", lane.pk, domain="gmail.com")
    assert "1 delivery queued" in said
    row.refresh_from_db()
    assert row.state == Delivery.State.QUEUED
    assert (
        act_on(admin_client, "lane", "pause_domain", lane.pk, domain="no domain").count("isn’t a domain") == 1
    )


def test_the_lane_says_which_account_it_belongs_to(admin_client: Client) -> None:
    add_account(name="second", url=URL)
    page = shown(admin_client, lane_page(Lane.objects.get(account="second")))
    assert "127.0.0.1:2, not encrypted" in page
    assert "s3cret" not in page


def test_an_accounts_password_is_never_shown_again(admin_client: Client) -> None:
    account = add_account(name="second", url=URL)
    for url in (
        reverse("admin:delivery_account_change", args=[account.pk]),
        reverse("admin:delivery_account_changelist"),
    ):
        assert "s3cret" not in shown(admin_client, url)


# aiosmtpd warns about a login without TLS; here it is intended.
@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
@pytest.mark.django_db
def test_the_login_is_tried_and_the_server_quoted(admin_client: Client) -> None:
    with SmtpServer(login=("ada", "s3cret")) as server:
        good = add_account(name="good", url=server.url)
        bad = add_account(name="bad", url=server.url.replace("s3cret", "wr0ng"))
        said = act_on(admin_client, "account", "log_in", good.pk, bad.pk)
    assert "accepted the sign-in: 235" in said
    assert f"bad: 127.0.0.1:{server.port} refused the sign-in" in said
    assert "535" in said
    assert "wr0ng" not in said


def test_an_account_in_use_cannot_be_deleted(admin_client: Client) -> None:
    account = add_account(name="second", url=URL)
    SubscribableFactory(title="The Letter", options={"account": "second"})
    assert "second is used by The Letter" in act_on(admin_client, "account", "drop", account.pk)
    assert Account.objects.exists()
    SubscribableFactory._meta.model.objects.update(options={})
    assert "The mail account second was deleted." in act_on(admin_client, "account", "drop", account.pk)
    assert not Account.objects.exists()


def test_a_newsletters_form_offers_the_accounts_there_are(admin_client: Client) -> None:
    add_account(name="second", url=URL)
    letter = SubscribableFactory(options={"account": "second"})
    page = shown(
        admin_client, reverse("admin:subscriptions_subscribable_change", args=[letter.pk]) + "?tab=settings"
    )
    assert '<option value="second" selected>second</option>' in page
    assert "Default" in page


def test_what_waits_counts_what_is_held_on_the_list_and_the_page(admin_client: Client) -> None:
    lane = a_lane()
    queued(2, lane=lane)
    queued(1, lane=lane, state="deferred")
    queued(4, lane=lane, state="held", held_for="pause")
    for url in (reverse("admin:delivery_lane_changelist"), lane_page(lane)):
        assert "3 · 4 held" in shown(admin_client, url)


def made(**changes: Any) -> DkimKey:
    return make_key(**{"domain": "example.org", "algorithm": "ed25519", "now": NOW, **changes})


def test_the_form_offers_the_senders_domain(admin_client: Client, settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = "Letters <letters@sender.example>"
    assert 'value="sender.example"' in text(admin_client.get(reverse("admin:delivery_dkimkey_add")))
    settings.DEFAULT_FROM_EMAIL = "letters@127.0.0.1"
    assert 'value="127.0.0.1"' not in text(admin_client.get(reverse("admin:delivery_dkimkey_add")))


def test_a_key_is_made_and_its_record_shown(admin_client: Client) -> None:
    page = text(submit(admin_client, "delivery_dkimkey_add", {"domain": "example.org", "algorithm": "rsa"}))
    key = DkimKey.objects.get()
    assert (key.domain, key.algorithm, key.state) == ("example.org", "rsa", "active")
    assert key.record.name in page
    assert key.record.value.replace("+", "&#x2B;") in page or key.record.value in page
    assert "PRIVATE" not in page


def test_a_refusal_stands_at_its_field(admin_client: Client) -> None:
    made()
    given = {"domain": "example.org", "algorithm": "ed25519", "selector": "feedletter-ed25519"}
    assert "has a key with the selector" in text(submit(admin_client, "delivery_dkimkey_add", given))
    assert "isn’t a domain" in text(
        submit(admin_client, "delivery_dkimkey_add", {"domain": "x y", "algorithm": "rsa"})
    )
    assert DkimKey.objects.count() == 1


def test_another_key_takes_over(admin_client: Client) -> None:
    first, second = made(), made()
    chosen = {"action": "activate", "_selected_action": [second.pk], "confirmed": "1"}
    submit(admin_client, "delivery_dkimkey_changelist", chosen)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == ("retired", "active")
    chosen["_selected_action"] = [first.pk, second.pk]
    assert "at most 1 at once" in text(submit(admin_client, "delivery_dkimkey_changelist", chosen))


def test_retiring_and_deleting_ask_first(admin_client: Client) -> None:
    key, other = made(), made(domain="other.example")
    assert "will no longer be signed with" in text(act(admin_client, "delivery_dkimkey", "retire", key))
    assert DkimKey.objects.filter(active=True).count() == 2
    retire_key(key, now=NOW)
    assert "will be deleted for good" in text(act(admin_client, "delivery_dkimkey", "drop", key))
    chosen = {"action": "drop", "_selected_action": [key.pk, other.pk], "confirmed": "1"}
    submit(admin_client, "delivery_dkimkey_changelist", chosen)
    assert list(DkimKey.objects.all()) == [other]
