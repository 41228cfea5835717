"""The program that exported a list, and the meaning of its columns.

Words for a subscriber's status, in any spelling.
"""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from subscriptions.rules.lists import statuses
from subscriptions.rules.lists.headings import COLUMNS, NoList, heading
from subscriptions.rules.lists.statuses import (
    LIST_STATUSES,
    leaving_word,
    plain,
    sort_of,
    status_of_words,
    strictest,
)
from subscriptions.rules.lists.survey import leaving_among

SAID = {
    "unsubscribed": [
        *("Unsubscribed", "UNSUBSCRIBED", " unsubscribed ", "Unsubscribed (user)", "un-subscribed", "unsub"),
        *("opted-out", "OptedOut", "opt out", "Opted_Out", "not subscribed", "no longer subscribed"),
        *("NEVER_SUBSCRIBED", "withdrawn", "consent revoked", "Cancelled", "deleted by user", "left"),
        *(
            "abgemeldet",
            "Abgemeldet am 3.4.",
            "abbestellt",
            "ausgetragen",
            "widerrufen",
            "gelöscht",
            "gekündigt",
        ),
        *("désinscrit", "DÉSINSCRITE", "de\u0301sabonne\u0301", "désabonné(e)", "non abonné", "résilié"),
        *("dado de baja", "baja", "desuscrito", "no suscrito", "cancelado"),
        *("descadastrado", "cancelou", "não inscrito", "removido"),
        *("disiscritto", "non iscritto", "uitgeschreven", "afgemeld", "avmeldt", "отписался"),
    ],
    "suppressed": [
        *(
            "bounced",
            "hard bounce",
            "Hard-Bounced",
            "soft_bounce",
            "HardBounce",
            "complained",
            "spam complaint",
        ),
        *("Marked as spam", "blocked", "banned", "blacklisted", "block-listed", "cleaned", "suppressed"),
        *("undeliverable", "do not email", "Do-not-contact", "don’t mail", "invalid"),
        *(
            "gesperrt",
            "unzustellbar",
            "blockiert",
            "Beschwerde",
            "rebond",
            "bloqué",
            "liste noire",
            "plainte",
        ),
        *("rebotado", "bloqueado", "lista negra", "devolvido", "rejeitado", "rimbalzato", "geblokkeerd"),
    ],
    "unconfirmed": [
        *("unconfirmed", "NOT CONFIRMED", "not-yet-confirmed", "notConfirmed", "pending", "Pending (opt-in)"),
        *("awaiting confirmation", "unverified", "inactive", "unbestätigt", "unbestaetigt", "ausstehend"),
        *("noch nicht bestätigt", "en attente", "non confirmé", "pas encore confirmé", "pendiente"),
        *("sin confirmar", "não confirmado", "pendente", "aguardando", "in attesa", "onbevestigd"),
    ],
}
CASES = [(text, status) for status, texts in SAID.items() for text in texts]
MAILCHIMP = (
    "Email Address,First Name,Last Name,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LATITUDE,"
    "LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION"
)
BLOCKED = [
    "blacklisted",
    "Blocklist",
    "is_blocked",
    "Unsubscribed?",
    "unsub",
    "Bounces",
    "bounced_at",
    "deleted",
    "date deleted",
    "Suppression",
    "complained",
    "opt-out",
    "Opted out",
    "Do not mail",
    "spam_reports",
    "disabled",
    "banned",
    "abgemeldet am",
    "désabonné",
]


def row(head: str, line: str) -> dict[str, str]:
    """Read a line of a list whose people agreed, as the admin says."""
    cells = heading(head.split(",")).row(line.split(","), "confirmed")
    return {name: text for name, text in cells.items() if text}


@pytest.mark.parametrize(
    ("program", "head"),
    [
        ("Mailchimp", f"{MAILCHIMP},LAST_CHANGED,LEID,EUID,NOTES,TAGS"),
        ("Substack", "email,active_subscription,expiry,plan,email_disabled,created_at,first_payment_at"),
        ("Ghost", "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at"),
        ("Buttondown", "id,creation_date,email_address,notes,metadata,tags,referrer_url,type"),
        ("beehiiv", "email,First Name,Last Name,status,tier,created_at,stripe_customer_id"),
        ("listmonk", "uuid,email,name,attributes,status,created_at,updated_at"),
        ("Brevo", "EMAIL,LASTNAME,FIRSTNAME,SMS,EMAIL_BLACKLISTED,SMS_BLACKLISTED,ADDED_TIME"),
        ("phpList", "id,Email,Is this subscriber confirmed,Is this subscriber blacklisted,Entered"),
        ("MailerLite", "Subscriber,Name,Last name,Subscribed,Groups"),
        ("FeedBurner", "Email,Subscribed,Status"),
        (
            "MailPoet",
            "Email,First name,Last name,Subscription time,Confirmation time,List status,Global status",
        ),
        ("Feedletter", ",".join(COLUMNS)),
        ("", "email,name,status,added"),
    ],
)
def test_exports_of_other_programs_are_known_by_their_headings(program: str, head: str) -> None:
    assert heading(head.split(",")).program.name == program


def test_mailchimps_three_files_are_read_with_what_became_of_each() -> None:
    tail = "1,2018-02-05 19:28:23,,2018-02-06 19:28:23,192.0.2.7,,,,,,,"
    usual = {
        "name": "Ada Lovelace",
        "added": "2018-02-05 19:28:23",
        "confirmed": "2018-02-06 19:28:23",
        "consent_ip": "192.0.2.7",
    }
    here = row(f"{MAILCHIMP},LEID", f"a@example.org,Ada,Lovelace,{tail},9")
    assert usual.items() <= here.items()
    assert here["status"] == "confirmed"
    gone = row(f"{MAILCHIMP},UNSUB_TIME,LEID", f"a@example.org,Ada,Lovelace,{tail},2020-01-01 10:00:00,9")
    assert (gone["status"], gone["left"]) == ("unsubscribed", "2020-01-01 10:00:00")
    cleaned = row(f"{MAILCHIMP},CLEAN_TIME,LEID", f"a@example.org,,,{tail},2020-01-01 10:00:00,9")
    assert cleaned["status"] == "suppressed"


@pytest.mark.parametrize(
    ("head", "line", "status"),
    [
        ("email,active_subscription,expiry,email_disabled", "a@example.org,false,,false", "confirmed"),
        ("email,active_subscription,expiry,email_disabled", "a@example.org,true,,true", "unsubscribed"),
        ("email,subscribed_to_emails,created_at", "a@example.org,true,2024-01-01", "confirmed"),
        ("email,subscribed_to_emails,created_at", "a@example.org,false,2024-01-01", "unsubscribed"),
        ("email_address,type,creation_date,metadata", "a@example.org,regular,,", "confirmed"),
        ("email_address,type,creation_date,metadata", "a@example.org,unactivated,,", "unconfirmed"),
        ("email,status,tier,created_at", "a@example.org,pending,free,", "unconfirmed"),
        ("email,status,tier,created_at", "a@example.org,validating,free,", "unconfirmed"),
        # It may have left this very list: the admin's statement about the file counts.
        ("uuid,email,attributes,status", ",a@example.org,{},enabled", "confirmed"),
        ("EMAIL,EMAIL_BLACKLISTED,ADDED_TIME", "a@example.org,No,01-02-2024", "confirmed"),
        ("EMAIL,EMAIL_BLACKLISTED,ADDED_TIME", "a@example.org,Yes,01-02-2024", "unsubscribed"),
        ("Email,Is this subscriber confirmed,blacklisted", "a@example.org,1,0", "confirmed"),
        ("Email,Is this subscriber confirmed,blacklisted", "a@example.org,0,0", "unconfirmed"),
        ("Email,Is this subscriber confirmed,blacklisted", "a@example.org,1,1", "suppressed"),
        ("Email,Is this subscriber confirmed,Is this account disabled?", "a@example.org,1,1", "unsubscribed"),
        (
            "email,subscribed_to_emails,created_at,deleted_at",
            "a@example.org,true,,2024-01-01",
            "unsubscribed",
        ),
        ("Email,Subscribed,Status", "a@example.org,3/4/2012,Pending Verification", "unconfirmed"),
        (
            "email,type,creation_date,metadata,unsubscription_date",
            "a@e.org,regular,,,2024-01-01",
            "confirmed",
        ),
        ("email,status,tier,created_at", "a@example.org,inactive,free,", "unsubscribed"),
        ("uuid,email,attributes,status", ",a@example.org,{},blocklisted", "suppressed"),
        ("email,confirmed", "a@example.org,2024-01-01", "confirmed"),
        ("email,left,confirmed", "a@example.org,2024-01-02,2024-01-01", "unsubscribed"),
        ("email,status,unsubscribed_at", "a@example.org,active,2024-01-02", "unsubscribed"),
        ("email,status,left", "a@example.org,active,", "confirmed"),
        ("email,confirmed", "a@example.org,no", "unconfirmed"),
        ("email,confirmed", "a@example.org,yes", "confirmed"),
        ("email,status,left", "a@example.org,active,yes", "unsubscribed"),
        ("Email,List status,Global status", "a@example.org,Subscribed,Bounced", "suppressed"),
        ("email,status", "a@example.org,Abgemeldet", "unsubscribed"),
        ("email,name", "a@example.org,Ada", "confirmed"),
        ("email,status", "a@example.org,maybe", "maybe"),
    ],
)
def test_the_status_is_what_the_line_tells_in_whatever_words(head: str, line: str, status: str) -> None:
    assert row(head, line).get("status", "") == status


@pytest.mark.parametrize("status", ["", "unconfirmed", "unsubscribed", "suppressed"])
@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("email,name", "a@example.org,Ada"),
        (MAILCHIMP, "a@example.org,Ada,L,1,2018-02-05 19:28:23,,2018-02-06 19:28:23,,,,,,,,"),
        ("Subscriber,Name,Subscribed,Groups", "a@example.org,Ada,2023-01-02,News"),
        ("EMAIL,EMAIL_BLACKLISTED,ADDED_TIME", "a@example.org,FALSE,02-01-2023"),
        ("email,subscribed_to_emails,created_at", "a@example.org,true,2024-01-01"),
        ("email,active_subscription,expiry,email_disabled", "a@example.org,true,,false"),
        ("email,confirmed", "a@example.org,yes"),
    ],
)
def test_no_file_confirms_anybody_and_nobody_becomes_more_than_the_admin_says(
    status: str, head: str, line: str
) -> None:
    read = heading(head.split(",")).row(line.split(","), status)
    assert read["status"] == (status or "unconfirmed")


def test_a_stricter_status_of_a_line_stays_and_an_unknown_word_is_no_consent() -> None:
    known = heading(["email", "status"])
    for own, admins, status in (
        ("active", "", "confirmed"),
        ("active", "unsubscribed", "unsubscribed"),
        ("bounced", "unsubscribed", "suppressed"),
        ("bounced", "confirmed", "suppressed"),
        ("tilmeldt", "confirmed", "tilmeldt"),
        ("tilmeldt", "unconfirmed", "tilmeldt"),
        ("tilmeldt", "unsubscribed", "unsubscribed"),
    ):
        assert known.row(["a@example.org", own], admins)["status"] == status
    taught = heading(["email", "status"], words={"Tilmeldt": "confirmed"})
    assert taught.row(["a@example.org", "TILMELDT"])["status"] == "confirmed"


@pytest.mark.parametrize("head", ["name,status", "", "a@example.org", "email,Email", "name,e-mail,E-Mail"])
def test_a_heading_without_one_email_is_none(head: str) -> None:
    with pytest.raises(NoList):
        heading(head.split(","))


def test_a_column_that_nobody_reads_may_come_twice() -> None:
    assert row("email,note,note,UNSUB_CAMPAIGN_ID,UNSUB_CAMPAIGN_ID", "a@example.org,1,2,3,4") == {
        "email": "a@example.org",
        "status": "confirmed",
    }


@given(st.permutations(COLUMNS), st.data())
def test_our_own_columns_are_found_in_any_order(names: list[str], data: Any) -> None:
    cells = {name: f"text of {name}" for name in names} | {
        "status": data.draw(st.sampled_from(LIST_STATUSES))
    }
    read = heading([name.upper() for name in names]).row([cells[name] for name in names])
    assert {name: read[name] for name in names} == cells


@pytest.mark.parametrize("name", BLOCKED)
def test_a_column_that_may_name_blocked_people_is_asked_about(name: str) -> None:
    assert [question.name for question in heading(["email", name, "city"]).questions] == [name]


@pytest.mark.parametrize("name", BLOCKED)
@pytest.mark.parametrize("meaning", ["suppressed", "unsubscribed"])
def test_what_a_person_says_of_it_holds_for_every_line(name: str, meaning: str) -> None:
    known = heading(["email", "status", name], {name: meaning})
    assert known.questions == ()
    for filled in ("1", "yes", "x", "2024-01-01 10:00:00", "true", "hard"):
        assert known.row(["a@example.org", "confirmed", filled])["status"] == meaning
    for empty in ("", "0", "no", "False", "0000-00-00 00:00:00", "NULL", "never", "-"):
        assert known.row(["a@example.org", "confirmed", empty])["status"] == "confirmed"
    assert heading(["email", name], {name: "ignore"}).row(["a@example.org", "1"])["status"] == "unconfirmed"


def test_who_is_suppressed_by_one_column_and_left_by_another_is_suppressed() -> None:
    meanings = {"bounced": "suppressed", "unsub": "unsubscribed"}
    for names in (["email", "bounced", "unsub"], ["email", "unsub", "bounced"]):
        assert heading(names, meanings).row(["a@example.org", "1", "1"])["status"] == "suppressed"


def test_columns_of_known_programs_need_no_question() -> None:
    for names in (
        f"{MAILCHIMP},UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER,LEID",
        f"{MAILCHIMP},CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID,LEID",
        "EMAIL,EMAIL_BLACKLISTED,SMS_BLACKLISTED,ADDED_TIME",
        "id,email_address,creation_date,metadata,type,unsubscription_date,unsubscription_reason,"
        "undeliverability_date,undeliverability_reason",
        "id,Email,Is this subscriber confirmed,blacklisted,Number of bounces,Is this account disabled?",
        ",".join(COLUMNS),
    ):
        assert heading(names.split(",")).questions == ()


def test_a_meaning_takes_a_column_from_what_it_would_have_been() -> None:
    known = heading(["mail", "e-mail", "when"], {"e-mail": "email", "when": "added", "mail": "ignore"})
    assert known.row(["note", "a@example.org", "2024-01-01"]) == {
        "email": "a@example.org",
        "added": "2024-01-01",
        "name": "",
        "status": "unconfirmed",
    }
    with pytest.raises(NoList, match="no column “shoe size”"):
        heading(["email"], {"shoe size": "ignore"})


@pytest.mark.parametrize(("text", "status"), CASES)
def test_a_word_of_leaving_is_known_in_any_spelling(text: str, status: str) -> None:
    assert (leaving_word(text), status_of_words(text), sort_of(text)) == (status, status, status)


@pytest.mark.parametrize(("text", "status"), CASES)
def test_it_is_found_among_many_other_cells(text: str, status: str) -> None:
    cells = ["Lisbon", "", "Ada Lovelace <ada@example.org>", text, "12", "São Paulo"]
    assert leaving_among(cells) == {text: status}


@pytest.mark.parametrize(
    "text",
    [
        *("Lisbon", "Leftwich Street 4, which nobody left", "Baja California", "Bannister", "description"),
        *("fecha de registro", "active", "subscribed", "Subscriber since May", "confirmed", "yes", "no", "-"),
        *("unsubscribe@example.org", "resilient", "Spendings", "Notable", "Pasadena"),
    ],
)
def test_an_ordinary_cell_says_nothing(text: str) -> None:
    assert leaving_among([text]) == {}


@pytest.mark.parametrize(
    "text",
    [
        *("The reader unsubscribed by telephone last summer, says Bob", "{'status': 'unsubscribed'}"),
        *("tags=vip;unsubscribed", "blocked the road", "Ada (unsubscribed) <ada@example.org>"),
    ],
)
def test_a_strong_word_counts_anywhere_in_a_text(text: str) -> None:
    assert leaving_among([text])


def _patterns() -> list[str]:
    return [pattern.pattern for _, pattern in (*statuses._STRONG, *statuses._WEAK)]


@example("nietconfirm")
@given(st.one_of(*(st.from_regex(re.compile(each, re.ASCII), fullmatch=True) for each in _patterns())))
def test_no_word_is_overlooked_by_the_quick_look_at_many_cells(text: str) -> None:
    # Signs of one word only: plain text decides how a pattern may continue.
    text = plain(text)
    assert leaving_among(["Lisbon", text]) == ({text: leaving_word(text)} if leaving_word(text) else {})


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        *((text, "yes") for text in ("yes", "Y", "TRUE", "on", "x", "Ja", "oui", "Sí", "sim", "✓", " ☑ ")),
        *((text, "no") for text in ("no", "N", "False", "off", "Nein", "non", "NÃO", "none", "✗")),
        *((text, "nothing") for text in ("", " ", "-", "NULL", "n/a", "0000-00-00 00:00:00", "[]")),
        *((text, "day") for text in ("2024-01-02", "3/4/2024 10:00", "Jan 5, 2024", "1714557600")),
        *(("0", "zero"), ("1", "one"), ("7", "code"), ("U", "code"), ("17", "other"), ("Lisbon", "other")),
        *(
            (text, "confirmed")
            for text in ("Subscribed", "abonné", "suscrito", "aktiv", "Opt-in", "inscrito")
        ),
    ],
)
def test_cells_are_sorted_by_what_they_hold(text: str, sort: str) -> None:
    assert sort_of(text) == sort


def test_the_strictest_of_several_statuses_counts_and_a_word_that_is_none_confirms_nobody() -> None:
    assert strictest("confirmed", "suppressed", "unsubscribed") == "suppressed"
    assert strictest("", "confirmed") == "confirmed"
    assert strictest("maybe", "confirmed") == "maybe"
    assert strictest("maybe", "unsubscribed") == "unsubscribed"
