"""Messages in feedletter's queues: dropped by default, or sent exactly once after the start.

People whom feedletter never asked to confirm are asked by us, once, when an admin says so.
Bridges of feedletter: they arrive with their accounts, paused, and post nothing twice.
"""

import json
from datetime import timedelta
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.test import Client

from common.admin.html import object_url
from delivery.admin.bridges.add import set_up_url
from delivery.alerts.pauses import tell_of_pauses
from delivery.bridges.connect import connections_of, reconnect, typed_destination
from delivery.issues.publish import late_subscribers
from delivery.letters.notices import take_notices
from delivery.models import Delivery, Issue, MailboxMessage
from feedletter_site.migrate_from import take_over
from feedletter_site.migrate_from.confirmations import send_confirmations
from feedletter_site.migrate_from.queues import _filled
from feedletter_site.models import Arrival
from subscriptions.models import Destination, Notice, Subscribable, Subscription, Suppression
from subscriptions.subscribers.leave import expire_sign_ups
from subscriptions.subscribers.sign_up import confirm_subscriptions
from tests.servers.api_server import Reply
from tests.servers.mastodon_instance import TOKEN
from tests.servers.services.bluesky import DID, HANDLE, PASSWORD
from tests.site.migrate_from.feedletter_dump import (
    NOW,
    ZONE,
    Services,
    dump,
    run,
    sent,
    services,
    site,
    start,
    start_all,
    texts_of,
)
from tests.site.migrate_from.pages import act, page
from tests.site.migrate_from.test_admin_arrivals import work
from tests.site.migrate_from.test_cordfeeder import everything, rounds, words
from tests.site.migrate_from.test_feedletter_admin import choose

__all__ = ["dump", "services", "site"]
SECOND_DATABASE = True
pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
POST_5 = ("river", "Post 5", "bob@example.com")
MAILABLE, END = "COPY public.mailable (", "\\.\n"


def with_rows(dump: Path, table: str, *rows: str) -> None:
    text = dump.read_text()
    start = text.index(f"COPY public.{table} (")
    end = text.index(END, start)
    dump.write_text(text[:end] + "".join(f"{row}\n" for row in rows) + text[end:])


def row_like(dump: Path, seqnum: str, number: int, *, retried: int = 0) -> str:
    """Return a queued email like the fixture's first, for another subscription."""
    (row,) = (line for line in dump.read_text().splitlines() if line.startswith("101\t"))
    cells = row.split("\t")
    link = f"https://letters.example.org/v0/subscription/remove?subscriptionId={number}&invitation=x"
    cells[0], cells[6], cells[7] = seqnum, urlencode({"removeLink": link, "motto": "Slow news"}), str(retried)
    return "\t".join(cells)


@pytest.mark.django_db(transaction=True)
def test_dropped_messages_are_listed_with_what_to_do(dump: Path) -> None:
    facts = run(dump)
    assert words(facts, "not taken").count("--queued keep") == 4
    start_all()
    rounds(3, begin=NOW)
    assert POST_5 not in sent()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_kept_emails_are_sent_exactly_once_after_the_start(dump: Path) -> None:
    facts = run(dump, "--queued", "keep")
    assert "river: [river] New Post: Post 5: 1 message will be sent" in words(facts, "taken")
    assert "1 message may have been sent" in words(facts, "changed")
    once = everything()
    run(dump, "--queued", "keep")
    assert everything() == once
    rounds(2, begin=NOW)
    assert not MailboxMessage.objects.exists()
    start("river")
    rounds(3, begin=NOW + HOUR)
    start("river")
    rounds(3, begin=NOW + 2 * HOUR)
    assert [each for each in sent() if each[1] == "Post 5"] == [POST_5]
    issue = Issue.objects.get(title="Post 5")
    assert not late_subscribers(issue).exists()
    letter = texts_of("river", "html")
    bob = Subscription.objects.get(upstream_id=8)
    assert "Dear Bob &quot;the $1 \\ man&quot;, jr.," in letter
    assert f"/unsubscribe/{bob.pk}-" in letter
    assert "%ToEmail%" not in letter.partition("Post 5")[2].partition("</html>")[0]
    held = Delivery.objects.get(issue=issue, state="held")
    assert (held.subscription.upstream_id, held.held_for) == (11, "")  # type: ignore[union-attr]
    assert "may have sent it" in held.last_error


def test_two_numbers_of_a_person_are_one_email_held_if_either_was_tried(dump: Path) -> None:
    rows = [row_like(dump, "103", 3), row_like(dump, "104", 7, retried=1), row_like(dump, "105", 3)]
    with_rows(dump, "mailable", *rows)
    run(dump, "--queued", "keep")
    zoe = Delivery.objects.filter(issue__title="Post 5", destination__core="zoe@example.org")
    assert [(each.state, each.held_for) for each in zoe] == [("held", "")]


def test_messages_to_people_who_left_and_without_a_text_are_not_sent(dump: Path) -> None:
    gone = row_like(dump, "103", 999)
    unknown = row_like(dump, "104", 8).replace("subscriptionId", "number")
    refused = row_like(dump, "105", 20)
    with_rows(dump, "mailable", gone, unknown, refused)
    facts = run(dump, "--queued", "keep")
    refusals = words(facts, "not taken")
    assert "Its subscriber left" in refusals
    assert "doesn’t say to which subscription" in refusals
    assert "1 message of people who weren’t imported" in refusals
    assert Issue.objects.get(title="Post 5").deliveries.count() == 2


def test_the_archive_shows_the_letter_without_anybodys_data(dump: Path) -> None:
    run(dump, "--queued", "keep")
    (item,) = Issue.objects.get(title="Post 5").issue_items.all()
    assert "Words of “Post 5”" in item.entry["content"]
    assert "%" not in item.entry["content"]
    assert "example.com" not in item.entry["content"]


def test_fields_of_customizers_are_filled_and_unknown_ones_stay() -> None:
    values = {"motto": "Slow $1 \\ news", "blank": " ", "toemail": "x@example.org"}
    text = r"%Motto% %blank% %nobody% \%motto% %ToEmail% 100%20%"
    assert _filled(text, values) == r"Slow $1 \ news %blank% %nobody% \%motto% %ToEmail% 100%20%"


def test_kept_posts_go_out_once_and_tried_ones_are_held(services: Services, dump: Path) -> None:
    text = dump.read_text().replace("\tmothership\t2\n", "\tmothership\t0\n")
    dump.write_text(text)
    facts = run(dump, "--queued", "keep")
    assert "1 of its files are no pictures" in words(facts, "changed")
    posts = Delivery.objects.filter(issue__subscribable__channel__in=("mastodon", "bluesky"))
    assert [each.held_for for each in posts] == ["pause", "pause"]
    (entry,) = posts.get(destination__kind="mastodon").issue.issue_items.all()  # type: ignore[union-attr]
    assert entry.entry["title"] == "Post 6, by Ada Byron"
    assert entry.entry["link"] == "https://blog.example.org/river/6/"
    assert [(each["url"], each["alt"]) for each in entry.entry["media"]] == [
        ("https://blog.example.org/six.jpg", "A heron")
    ]


def test_a_status_that_was_tried_before_is_held_for_a_person(services: Services, dump: Path) -> None:
    run(dump, "--queued", "keep")
    start("river-masto")
    rounds(1, begin=NOW)
    row = Delivery.objects.get(destination__kind="mastodon", issue__title__startswith="Post 6")
    assert (row.state, row.held_for) == ("held", "")
    assert not [each for each in services.mastodon.statuses if "Post 6" in each["content"]]


def new_person() -> Subscription:
    return Subscription.objects.get(destination__core="new@example.org")


def command() -> dict[str, Any]:
    out = StringIO()
    call_command("send_confirmations", "--json", stdout=out)
    facts: dict[str, Any] = json.loads(out.getvalue())
    return facts


def test_each_is_asked_once_and_the_link_works_from_then_on(dump: Path) -> None:
    facts = run(dump)
    assert "After the import, send ours" in words(facts, "changed")
    assert not Notice.objects.exists()
    late = NOW + timedelta(days=30)
    assert (send_confirmations(now=late), send_confirmations(now=late + HOUR)) == (1, 0)
    run(dump)
    assert command() == {"queued": 0}
    take_notices(now=late)
    mail = Delivery.objects.get(kind="confirmation")
    assert mail.destination.core == "new@example.org"
    expire_sign_ups(now=late + HOUR)
    token = mail.context["confirm_url"].rstrip("/").rpartition("/")[2]
    confirm_subscriptions(token=token, now=late + 47 * HOUR)
    assert new_person().status == "confirmed"


def test_who_never_confirms_is_forgotten_as_after_a_sign_up_here(dump: Path) -> None:
    run(dump)
    expire_sign_ups(now=NOW + timedelta(days=300))
    assert new_person()
    assert command() == {"queued": 1}
    Subscription.objects.update(added_at=NOW)
    expire_sign_ups(now=new_person().consents.latest("at").at + timedelta(days=30))
    assert not Subscription.objects.filter(destination__core="new@example.org").exists()


@pytest.mark.parametrize("case", ["confirmed", "left", "suppressed", "asked here", "deleted"])
def test_nobody_else_is_asked(dump: Path, case: str) -> None:
    run(dump)
    row = new_person()
    if case == "suppressed":
        Suppression.objects.create(core="new@example.org")
    elif case == "deleted":
        row.delete()
    else:
        changes = {
            "confirmed": {"status": "confirmed"},
            "left": {"status": "unsubscribed"},
            "asked here": {"confirm_nonce": "x"},
        }
        Subscription.objects.filter(pk=row.pk).update(**changes[case])
    assert command() == {"queued": 0}
    assert not Notice.objects.exists()


def test_two_numbers_of_one_person_are_asked_once(dump: Path) -> None:
    text = dump.read_text()
    people = next(line for line in text.splitlines() if line.startswith("14\t"))
    mails = next(line for line in text.splitlines() if "[river] Please confirm" in line)
    second = people.replace("14\t", "21\t", 1).replace("new@example.org", "New@example.org")
    again = mails.replace("5\t", "6\t", 1).replace("\tnew@example.org\t", "\tNew <New@example.org>\t")
    text = text.replace(people, f"{people}\n{second}").replace(mails, f"{mails}\n{again}")
    dump.write_text(text)
    run(dump)
    assert command() == {"queued": 1}
    assert command() == {"queued": 0}


def test_a_button_of_the_import_sends_them(
    admin_client: Client, dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take_over, "utcnow", lambda: NOW)
    choose(admin_client, dump, zone=ZONE)
    work()
    row = Arrival.objects.get()
    assert "Send confirmations</" not in page(admin_client, row)
    act(admin_client, row, "run")
    work()
    assert "Send confirmations</" in page(admin_client, row)
    assert "1 confirmation will be sent." in act(admin_client, row, "confirm", confirmed="1")
    assert Notice.objects.get().destination.core == "new@example.org"
    assert "Send confirmations</" not in page(admin_client, row)


@pytest.fixture
def secrets(services: Services, dump: Path, tmp_path: Path) -> Path:
    dump.write_text(dump.read_text().replace('"blog.example.org"', f'"{HANDLE}"'))
    file = tmp_path / "feedletter-secrets.properties"
    file.write_text(
        f"feedletter.masto.access.token.mothership={TOKEN}\nfeedletter.bsky.identifier.{HANDLE}: {PASSWORD}\n"
    )
    return file


@pytest.mark.django_db(transaction=True)
def test_bridges_arrive_connected_and_post_only_what_is_new(
    services: Services, dump: Path, secrets: Path
) -> None:
    facts = run(dump, "--secrets", str(secrets))
    bridges = {each.name: each for each in Subscribable.objects.exclude(channel="email")}
    assert {name: each.channel for name, each in bridges.items()} == {
        "river-masto": "mastodon",
        "river-bsky": "bluesky",
    }
    assert bridges["river-bsky"].params == {"tone": "dry"}
    assert all(each.sending_paused_at for each in bridges.values())
    (masto,), (bsky,) = (connections_of(bridges[name]) for name in ("river-masto", "river-bsky"))
    assert (masto.upstream_id, bsky.upstream_id, bsky.destination.core) == (16, 17, DID)
    assert masto.destination.config["account_id"] == "109"
    assert not [line for line in facts["lines"] if "token" in line["words"]]
    assert TOKEN not in str(facts)
    assert PASSWORD not in str(facts)
    rounds(3, begin=NOW)
    assert not services.mastodon.statuses
    start("river-masto", "river-bsky")
    rounds(4, begin=NOW + HOUR)
    (status,) = services.mastodon.statuses
    assert "Post 8" in status["content"]
    (record,) = services.bluesky.records.values()
    assert "Post 8" in str(record)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_bridge_that_is_resumed_without_a_token_waits_for_one_and_loses_nothing(
    services: Services, dump: Path, admin_client: Client
) -> None:
    facts = run(dump)
    assert "press Connect again" in words(facts, "changed")
    start("river-masto")
    rounds(3, begin=NOW)
    bridge = Subscribable.objects.get(name="river-masto")
    assert not services.mastodon.requests
    assert set(Delivery.objects.filter(issue__subscribable=bridge).values_list("state", flat=True)) == {
        "queued"
    }
    tell_of_pauses(now=NOW + HOUR)
    assert Delivery.objects.get(kind="alert").context["subject"] == "Posts of “river-masto” are waiting"
    for url in (object_url(bridge), set_up_url(bridge)):
        shown = unescape(admin_client.get(url).content.decode())
        assert "isn’t connected: this site has no credentials for it" in shown
        assert ">Connect again</a>" in shown
    (masto,) = connections_of(bridge)
    typed = {"account": "mothership", "instance_url": services.mastodon.url, "access_token": TOKEN}
    reconnect(destination=masto.destination, parsed=typed_destination("mastodon", typed), now=NOW)
    rounds(4, begin=NOW + HOUR)
    (status,) = services.mastodon.statuses
    assert "Post 8" in status["content"]


def test_a_refused_token_is_reported_and_the_bridge_arrives(
    services: Services, dump: Path, secrets: Path
) -> None:
    services.bluesky.revoke()
    services.mastodon.says = Reply(503)
    facts = run(dump, "--secrets", str(secrets))
    assert "It could not be connected: " in words(facts, "changed")
    assert Subscription.objects.filter(subscribable__name="river-bsky", status="confirmed").exists()


def test_an_account_that_this_site_has_keeps_its_token(services: Services, dump: Path, secrets: Path) -> None:
    secret: Any = {"app_password": "own"}
    own = Destination.objects.create(
        kind="bluesky", core=DID, label="@own", config={"did": DID}, secrets=secret
    )
    run(dump, "--secrets", str(secrets))
    (bsky,) = connections_of(Subscribable.objects.get(name="river-bsky"))
    assert bsky.destination.pk == own.pk
    assert bsky.destination.secrets.open() == {"app_password": "own"}


def test_a_name_that_cannot_be_an_account_is_refused_with_a_reason(services: Services, dump: Path) -> None:
    dump.write_text(dump.read_text().replace('"mothership"', '"mother ship"'))
    facts = run(dump)
    assert "river-masto (mother ship): account: " in words(facts, "not taken")
    assert not connections_of(Subscribable.objects.get(name="river-masto"))
