import re
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.address import clean_name
from channels.email.headers import MAX_FIELD_TEXT
from channels.email.letter_form import message_mark
from channels.email.mail_message import MailMessage
from common.ports.channels import InvalidDestination
from tests.channels.email_letters import NOW, compose_mail, letter, recipient

LINES = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\u2028\u2029"))
# Python's own parser loses some spaces beside what looks like an encoded word, and splits on rare ones.
TITLES = st.text(
    st.characters(categories=["L", "N", "P", "S"], include_characters=" "), max_size=MAX_FIELD_TEXT
)
NASTY = st.text(st.sampled_from('ab \r\n\0\t\x0b\x0c\x85\u2028\u2029:;,<>@"\\()=?é日🦄.')) | st.text()
ISSUE_FIELDS = [
    "Date", "From", "MIME-Version", "Auto-Submitted", "Content-Language", "List-Id", "Precedence",
    "List-Archive", "List-Help", "List-Owner", "List-Post", "Feedback-ID", "To", "Subject", "Message-ID",
    "List-Unsubscribe", "List-Unsubscribe-Post", "Content-Type",
]  # fmt: skip


def made(
    site_host: str = "letters.example.org", to: dict[str, Any] | None = None, **changes: Any
) -> MailMessage:
    return compose_mail(letter(**changes), recipient(**(to or {})), site_host=site_host)


def parsed(message: MailMessage) -> EmailMessage:
    return message_from_bytes(message.dated(NOW), policy=policy.default)


def part(message: EmailMessage, kind: str) -> str:
    found = message.get_body((kind,))
    assert found is not None
    return str(found.get_content())


def lines_of(message: MailMessage) -> list[bytes]:
    return message.dated(NOW).split(b"\r\n")


def names_of(message: MailMessage) -> list[str]:
    head = message.dated(NOW).split(b"\r\n\r\n")[0]
    return [name.decode() for name in re.findall(rb"(?m)^([!-9;-~]+):", head)]


def test_an_issue_carries_what_mailbox_providers_ask_for() -> None:
    mail = parsed(made())
    assert mail["From"] == "Example <letters@example.org>"
    assert mail["To"] == "Ada Lovelace <Ada@example.test>"
    assert mail["Subject"] == "A post about bees"
    assert mail["Date"].datetime == NOW
    assert mail["Message-ID"] == f"<{message_mark('t0ken', 7)}.7@example.org>"
    assert mail["MIME-Version"] == "1.0"
    assert mail["List-Id"] == "Example Weekly <example-weekly.letters.example.org>"
    assert mail["List-Unsubscribe"] == "<https://letters.example.org/unsubscribe/abc123/>"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail["List-Archive"] == "<https://letters.example.org/s/example-weekly/archive/1/>"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Precedence"] == "bulk"
    assert mail["Content-Language"] == "en"
    assert mail["Reply-To"] is None
    assert mail.get_content_type() == "multipart/alternative"
    assert [piece.get_content_type() for piece in mail.iter_parts()] == ["text/plain", "text/html"]
    assert not mail.defects


@pytest.mark.parametrize("kind", ["confirmation", "welcome", "sign_in", "farewell", "alert"])
def test_a_mail_about_one_thing_is_no_list_mail(kind: str) -> None:
    mail = parsed(made(kind=kind, placeholders={}))
    assert mail["Auto-Submitted"] == "auto-generated"
    assert not [name for name in mail if name.startswith("List-") or name == "Precedence"]


def test_a_mail_with_a_link_to_unsubscribe_has_its_header_as_well() -> None:
    mail = parsed(made(kind="welcome", text="Unsubscribe: h1x", placeholders={"removelink": "h1x"}))
    assert mail["List-Unsubscribe"] == "<https://letters.example.org/unsubscribe/abc123/>"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert not [name for name in mail if name in ("List-Id", "Precedence")]


def test_a_reply_goes_where_the_newsletter_says() -> None:
    assert parsed(made(reply_to="Éd <ed@example.org>"))["Reply-To"] == "Éd <ed@example.org>"


def test_the_message_id_is_the_same_at_every_attempt_and_another_for_every_delivery() -> None:
    again = {parsed(made())["Message-ID"], parsed(made(subject="corrected"))["Message-ID"]}
    assert len(again) == 1
    assert parsed(made(to={"delivery_id": 8}))["Message-ID"] not in again


def test_no_reader_can_guess_the_message_id_of_anothers_letter() -> None:
    ids = [parsed(made(to={"delivery_id": number}))["Message-ID"] for number in (7, 8)]
    marks = {each.partition(".")[0] for each in ids}
    assert len(marks) == 2
    assert all(re.fullmatch("<[0-9a-f]{32}", mark) for mark in marks)
    assert "t0ken" not in "".join(ids)


def test_bounces_go_to_the_return_path_and_never_to_the_null_sender() -> None:
    mail = compose_mail(
        letter(), recipient(), site_host="x.example", return_path=lambda _: "bounces+7-ab@b.example"
    )
    assert mail.sender == "bounces+7-ab@b.example"
    assert parsed(mail)["From"] == "Example <letters@example.org>"
    assert made().sender == "letters@example.org"
    with pytest.raises(ValueError, match="characters that an email address can"):
        compose_mail(letter(), recipient(), site_host="x.example", return_path=lambda _: "a> SIZE=0")


def test_a_sender_beyond_ascii_needs_smtputf8_whatever_the_return_path() -> None:
    sender = "Žofie <žofie@example.org>"
    mail = compose_mail(
        letter(from_email=sender),
        recipient(),
        site_host="x.example",
        return_path=lambda _: "bounces+7-ab@b.example",
    )
    assert mail.needs_utf8
    assert not made(subject="Žluť", html="<p>Žluť</p>", from_email="Žofie <a@example.org>").needs_utf8


def test_marks_that_turn_the_direction_of_writing_stay_out_of_headers() -> None:
    mail = parsed(made(subject="a\u202eb \x9b", to={"name": "A\u2066da"}))
    assert mail["Subject"] == "ab"
    assert mail["To"].addresses[0].display_name == "Ada"


def test_the_list_id_stays_when_the_title_changes() -> None:
    ids = [parsed(made(newsletter_title=title))["List-Id"] for title in ("One", "Žluť", "", 'Q"; <x.y>')]
    assert {re.findall("<[^<>]*>$", each)[0] for each in ids} == {"<example-weekly.letters.example.org>"}


def test_the_list_id_is_a_dot_atom_whatever_the_name() -> None:
    assert parsed(made(newsletter="..a..b."))["List-Id"].endswith("<a.b.letters.example.org>")


def test_fields_are_filled_for_the_recipient_and_escaped_in_html_only() -> None:
    mail = parsed(
        made(
            to={"name": "<b>&Ada</b>"},
            subject="For HOLE1",
            html="<p>HOLE1</p>",
            text="HOLE1",
            placeholders={"tonickname": "HOLE1"},
        )
    )
    assert mail["Subject"] == "For <b>&Ada</b>"
    assert "&lt;b&gt;&amp;Ada&lt;/b&gt;" in part(mail, "html")
    assert "<b>&Ada</b>" in part(mail, "plain")


@pytest.mark.parametrize(
    "name", ["Ada", "Lovelace, Ada", 'A "q" \\ b', "Žofie", "日本語 🦄", "=?utf-8?q?x?=", "a@b"]
)
def test_a_display_name_arrives_as_it_is(name: str) -> None:
    [address] = parsed(made(to={"name": name}))["To"].addresses
    assert (address.display_name, address.addr_spec) == (name, "Ada@example.test")


@pytest.mark.parametrize("title", ["=?utf-8?q?x?=", "a =?utf-8?b?eA==?= b", "=?", 'Re: (a) <b> "c"'])
def test_a_title_that_looks_encoded_arrives_as_typed(title: str) -> None:
    assert parsed(made(subject=title))["Subject"] == title


def test_an_international_domain_travels_in_ascii() -> None:
    mail = made(from_email="A <a@přiklad.cz>")
    assert mail.sender == "a@xn--piklad-pib.cz"
    assert not mail.needs_utf8
    assert mail.data.isascii()


def test_an_international_local_part_needs_smtputf8() -> None:
    mail = made(to={"config": {"address": "žofie@example.org"}})
    assert mail.needs_utf8
    assert "žofie@example.org" in str(parsed(mail)["To"])


def test_without_html_there_is_just_the_text() -> None:
    mail = parsed(made(html=""))
    assert mail.get_content_type() == "text/plain"
    assert mail.get_content().strip() == "A post about bees"


@pytest.mark.parametrize("kind", ["confirmation", "welcome", "sign_in", "farewell", "alert", "issue"])
def test_every_mail_says_its_language_as_its_html_does(kind: str) -> None:
    languages = {"": "en", "de": "de", "pt_BR": "pt-BR", "no language": "en"}
    for language, said in languages.items():
        assert parsed(made(kind=kind, language=language))["Content-Language"] == said


def test_a_sender_that_is_no_address_is_refused() -> None:
    with pytest.raises(InvalidDestination):
        made(from_email="nobody")


@pytest.mark.parametrize("address", ["a@b>\r\nRCPT TO:<c@d", "a b@c", "a@b\n", "<a@b>", ""])
def test_a_recipient_that_would_break_the_dialogue_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        made(to={"core": address, "config": {"address": address}})


# Longer links are left out.
@given(title=NASTY, subject=NASTY, name=NASTY, url=NASTY.map(lambda it: it[:50]), language=NASTY, token=NASTY)
def test_no_text_adds_a_header_field(
    title: str, subject: str, name: str, url: str, language: str, token: str
) -> None:
    mail = made(
        newsletter_title=title,
        subject=subject,
        newsletter=name,
        token=token,
        language=language,
        archive_url="https://x/" + url,
        to={"name": name, "unsubscribe_url": "https://x/" + url},
    )
    assert names_of(mail) == ISSUE_FIELDS
    head = mail.dated(NOW).split(b"\r\n\r\n")[0]
    assert head.isascii()
    assert not re.search(rb"[^\r]\n|\r[^\n]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", head)
    assert len(parsed(mail)["To"].addresses) == 1
    assert parsed(mail)["To"].addresses[0].addr_spec == "Ada@example.test"


@given(text=NASTY, html=NASTY, subject=NASTY)
def test_every_line_fits_and_ends_with_crlf(text: str, html: str, subject: str) -> None:
    octets = made(
        text=text, html=html, subject=subject * 40, newsletter_title=subject, to={"name": subject}
    ).dated(NOW)
    assert max(len(line) for line in octets.split(b"\r\n")) <= 78
    assert not re.search(rb"[^\r]\n|\r[^\n]", octets)
    assert octets.endswith(b"\r\n")


def normal(text: str) -> str:
    return "\n".join(re.sub("\r\n|\r", "\n", text).split("\n")).rstrip("\n")


@given(text=LINES, html=LINES)
def test_text_and_html_parse_back_as_they_were(text: str, html: str) -> None:
    mail = parsed(made(text=text + "\n.\n..x\nFrom y ", html="<p>" + html))
    assert normal(part(mail, "plain")) == normal(text + "\n.\n..x\nFrom y ")
    assert normal(part(mail, "html")) == "<p>" + normal(html)


@given(title=TITLES, name=TITLES)
def test_subject_and_name_parse_back_as_they_were(title: str, name: str) -> None:
    mail = parsed(made(subject=title, to={"name": name[:100]}))
    assert str(mail["Subject"]) == " ".join(title.split())
    # Python's parser, unlike readers', keeps the space between two encoded words; so use names of one.
    if len(name.encode()) < 39:
        assert mail["To"].addresses[0].display_name == clean_name(name)


@given(name=TITLES)
def test_a_long_name_decodes_as_it_was(name: str) -> None:
    field = re.search(rb"(?s)\r\nTo: (.*?)(?:\r\n)? <Ada@", made(to={"name": "é" + name[:99]}).data)
    assert field is not None
    folded = field[1].decode("ascii").replace("\r\n", "")
    assert str(make_header(decode_header(folded))) == clean_name("é" + name[:99])


@pytest.mark.parametrize(
    "content", ["x" * 5000, "日本語" * 3000, "é" * 5000, "a\n" * 3000, "=" * 2000, ". " * 2000]
)
def test_long_lines_are_broken_for_the_way_only(content: str) -> None:
    mail = made(text=content, html=content)
    assert max(len(line) for line in lines_of(mail)) <= 78
    assert normal(part(parsed(mail), "plain")) == normal(content)


def test_a_title_of_ten_kilobytes_makes_a_subject_that_is_cut() -> None:
    subject = str(parsed(made(subject="Wörter " * 2000))["Subject"])
    assert len(subject) == MAX_FIELD_TEXT
    assert subject.endswith("…")


def test_control_characters_stay_behind() -> None:
    mail = parsed(made(text="a\x00b\x1b[1mc\td", html="<p>a\x00b\x0cc\x85d</p>"))
    assert part(mail, "plain").strip() == "ab[1mc\td"
    assert part(mail, "html").strip() == "<p>abcd</p>"
