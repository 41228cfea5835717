"""The whole mail check, with a DNS, a mail server and deliveries."""

import json
import socket
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.test import Client
from django.urls import reverse

from common.transactions import NetworkInTransaction
from delivery.accounts.accounts import add_account
from delivery.accounts.dkim_keys import make_key
from delivery.doctor.check import DoctorReport, check_mail
from delivery.doctor.findings import DoctorVerdict, Finding
from delivery.models import DkimKey
from tests.console import printed, refused
from tests.factories import NOW, BridgeFactory, SubscribableFactory
from tests.servers.dns_server import DnsServer
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
OWN = "192.0.2.7"
ZONE = {
    "sender.example": {"TXT": [f"v=spf1 ip4:{OWN} -all"], "MX": ["10 mx.sender.example."]},
    "bounces.sender.example": {"TXT": [f"v=spf1 ip4:{OWN} -all"], "MX": ["10 mx.sender.example."]},
    "mx.sender.example": {"A": [OWN]},
    "_dmarc.sender.example": {"TXT": ["v=DMARC1; p=none; rua=mailto:d@sender.example"]},
    "7.2.0.192.in-addr.arpa": {"PTR": ["mx.sender.example."]},
}


@pytest.fixture
def dns(settings: Any) -> Iterator[DnsServer]:
    with DnsServer(ZONE) as server:
        settings.DNS_SERVERS = [server.address]
        yield server


@pytest.fixture(autouse=True)
def _sender(settings: Any, smtp: SmtpServer) -> None:
    settings.DEFAULT_FROM_EMAIL = "Letters <letters@sender.example>"


def looked(**options: Any) -> DoctorReport:
    return check_mail(now=NOW, sending_address=OWN, **options)


def verdicts(report: DoctorReport, about: str = "") -> dict[str, str]:
    """Return topic → worst verdict."""
    order = [verdict.value for verdict in DoctorVerdict]
    found: dict[str, str] = {}
    for one in report.findings:
        if about in ("", one.about):
            found[one.topic] = max(found.get(one.topic, "good"), one.verdict.value, key=order.index)
    return found


def of(report: DoctorReport, topic: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.topic == topic]


def published(dns: DnsServer, key: DkimKey) -> None:
    dns.say(key.record.name, "TXT", key.record.value)


def test_all_is_well_but_the_address_of_this_test(dns: DnsServer, settings: Any) -> None:
    published(dns, make_key(domain="sender.example", now=NOW))
    settings.BOUNCE_DOMAIN = "bounces.sender.example"
    report = looked()
    assert verdicts(report) == {
        "SPF": "good",
        "DKIM": "good",
        "DMARC": "good",
        "MX": "good",
        "Mail server": "good",
        "TLS": "good",
        "PTR": "good",
        "Unsubscribe links": "wrong",
    }


def test_every_sender_in_use_is_looked_at_and_no_other(dns: DnsServer) -> None:
    SubscribableFactory(from_email="A <a@one.example>")
    SubscribableFactory(from_email="B <b@one.example>")
    BridgeFactory(from_email="C <c@bridge.example>")
    letter = SubscribableFactory(from_email="")
    abouts = {finding.about for finding in of(looked(), "DMARC")}
    assert abouts == {"one.example", "sender.example"}
    assert {each.about for each in of(looked(newsletter=letter.name), "DMARC")} == {"sender.example"}
    assert {each.about for each in of(looked(from_address="x@other.example"), "DMARC")} == {"other.example"}


def test_a_domain_without_anything_is_given_all_its_records(dns: DnsServer) -> None:
    report = looked(from_address="a@bare.example")
    changes = {each.publish.name: each.publish.value for each in report.findings if each.publish}
    assert changes["_dmarc.bare.example"].startswith("v=DMARC1; p=none")
    assert changes["bare.example"] == f"v=spf1 ip4:{OWN} ~all"


def test_bounces_count_for_spf_where_there_is_a_domain_for_them(dns: DnsServer, settings: Any) -> None:
    settings.BOUNCE_DOMAIN = "bounces.elsewhere.example"
    report = looked()
    assert {each.about for each in of(report, "SPF")} == {"bounces.elsewhere.example"}
    assert verdicts(report, "sender.example")["DMARC"] == "could be better"


def test_the_key_of_a_parent_domain_counts(dns: DnsServer) -> None:
    key = make_key(domain="sender.example", now=NOW)
    report = looked(from_address="a@news.sender.example")
    assert verdicts(report, "news.sender.example")["DKIM"] == "wrong"
    published(dns, key)
    report = looked(from_address="a@news.sender.example")
    assert verdicts(report, "news.sender.example")["DKIM"] == "good"


def test_a_key_that_another_took_the_place_of_is_wrong(dns: DnsServer) -> None:
    key = make_key(domain="sender.example", now=NOW)
    dns.say(key.record.name, "TXT", "v=DKIM1; k=rsa; p=MIIBother")
    (finding,) = of(looked(), "DKIM")
    assert (finding.verdict, finding.found) == (DoctorVerdict.WRONG, ("v=DKIM1; k=rsa; p=MIIBother",))


def test_each_account_is_looked_at(dns: DnsServer) -> None:
    add_account(name="second", url="smtp://u:p@127.0.0.1:1")
    SubscribableFactory(from_email="a@sender.example", options={"account": "second"})
    assert [each.verdict.value for each in of(looked(), "Mail server")] == ["good", "wrong"]


def test_a_wrong_password_is_said(dns: DnsServer, settings: Any) -> None:
    with SmtpServer(login=("u", "right")) as server:
        settings.EMAIL_URL = f"smtp://u:wrong@127.0.0.1:{server.port}"
        (login,) = of(looked(), "Login")
    assert login.verdict is DoctorVerdict.WRONG
    assert "wrong" not in login.says.replace("is wrong", "")


def test_letters_that_are_kept_here_go_nowhere(dns: DnsServer, settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    report = looked()
    (server,) = of(report, "Mail server")
    assert "kept in the mailbox here" in server.says
    assert report.in_short.startswith("Emails are kept in the mailbox here and not sent.")
    assert verdicts(report, "sender.example") == {"SPF": "could be better", "DMARC": "good", "MX": "good"}
    assert not [each.publish for each in report.findings if each.publish]
    settings.DEFAULT_FROM_EMAIL = "letters@127.0.0.1"
    assert verdicts(looked())["From"] == "could be better"


def test_a_service_answers_for_its_own_servers(dns: DnsServer, settings: Any) -> None:
    settings.EMAIL_URL = "anymail+postmark://key@"
    report = looked()
    assert verdicts(report, "sender.example")["SPF"] == "good"
    assert "PTR" not in verdicts(report)


def test_a_sender_of_this_machine_is_wrong(dns: DnsServer, settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = "letters@127.0.0.1"
    assert verdicts(looked())["From"] == "wrong"


def test_nothing_is_looked_at_inside_a_transaction(dns: DnsServer) -> None:
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        looked()


# --- the command


def run(*words: str) -> tuple[str, str]:
    """Return the output, and the final sentence if any."""
    out = StringIO()
    try:
        call_command("check_mail", "--sending-address", OWN, *words, stdout=out, stderr=StringIO())
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def test_the_command_shows_records_to_copy_and_ends_with_what_is_wrong(dns: DnsServer) -> None:
    said, error = run("--from", "a@bare.example")
    assert f'bare.example. IN TXT "v=spf1 ip4:{OWN} ~all"' in said
    assert "are wrong" in error


def test_the_json_is_a_document_whatever_was_found(dns: DnsServer) -> None:
    said, error = run("--json")
    document = json.loads(said)
    assert (document["verdict"], document["problem"]) == ("wrong", "")
    assert error
    assert {"topic", "about", "verdict", "says", "found", "change", "publish"} <= set(document["findings"][0])


def test_without_a_name_server_there_is_one_sentence_and_still_a_document(settings: Any) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        settings.DNS_SERVERS = [deaf.getsockname()]
        said, error = run("--json")
    assert json.loads(said)["findings"] == []
    assert error.startswith("No name server responds here")
    assert "\n" not in error


def test_what_cannot_be_looked_at_is_refused(dns: DnsServer) -> None:
    assert "no newsletter" in refused("check_mail", "--newsletter", "nobody")
    assert "no IP address" in refused("check_mail", "--sending-address", "here")
    assert "isn’t an email address" in refused("check_mail", "--from", "nobody")


def test_taking_a_key_into_use_says_when_its_record_is_missing(dns: DnsServer) -> None:
    make_key(domain="sender.example", now=NOW)
    second = make_key(domain="sender.example", now=NOW)
    err = StringIO()
    call_command(
        "dkim_key",
        "sender.example",
        "--selector",
        second.selector,
        "--activate",
        stderr=err,
        stdout=StringIO(),
    )
    assert "isn’t published" in err.getvalue()
    published(dns, second)
    assert "signs emails" in printed(
        "dkim_key", "sender.example", "--selector", second.selector, "--activate"
    )


# --- the admin


def test_the_page_looks_only_when_asked(dns: DnsServer, admin_client: Client) -> None:
    url = reverse("mail_check")
    assert "Check now" in admin_client.get(url).content.decode()
    assert dns.asked == []
    shown = admin_client.get(url, {"sending_address": OWN, "check": "1"}).content.decode()
    assert "1 thing is wrong" in shown
    assert f"v=spf1 ip4:{OWN} -all" in shown


def test_the_page_of_a_newsletter_leads_there(dns: DnsServer, admin_client: Client) -> None:
    letter = SubscribableFactory(from_email="a@sender.example")
    page = admin_client.get(
        reverse("admin:subscriptions_subscribable_change", args=[letter.pk]) + "?tab=settings"
    ).content.decode()
    url = f"{reverse('mail_check')}?newsletter={letter.name}"
    assert url in page
    assert f'value="{letter.name}" selected' in admin_client.get(url).content.decode()


def test_only_who_may_see_lanes_may_look(client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("staff", is_staff=True))
    assert client.get(reverse("mail_check")).status_code == 403


def test_the_page_of_a_key_says_whether_it_is_published(dns: DnsServer, admin_client: Client) -> None:
    key = make_key(domain="sender.example", now=NOW)
    url = reverse("admin:delivery_dkimkey_change", args=[key.pk])
    assert "Its record isn’t published" in admin_client.get(url).content.decode()
    published(dns, key)
    assert "Its record is published and matches" in admin_client.get(url).content.decode()


def test_a_key_asks_before_it_signs_without_a_record(dns: DnsServer, admin_client: Client) -> None:
    make_key(domain="sender.example", now=NOW)
    second = make_key(domain="sender.example", now=NOW)
    chosen = {"action": "activate", "_selected_action": [second.pk]}
    shown = admin_client.post(reverse("admin:delivery_dkimkey_changelist"), chosen).content.decode()
    assert "Publish the record first" in shown
    second.refresh_from_db()
    assert not second.active
    admin_client.post(reverse("admin:delivery_dkimkey_changelist"), {**chosen, "confirmed": "1"})
    second.refresh_from_db()
    assert second.active
