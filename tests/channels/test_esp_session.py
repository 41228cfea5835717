"""Letters through mail services: the requests to their APIs, and the outcome of responses."""

import json
import logging
import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from channels.base import Ambiguous, LaneFacts, Outcome, Permanent, Sent, Temporary
from channels.email.channel import EmailChannel
from channels.email.esp.message_form import METADATA_NAME as METADATA
from channels.email.esp.message_form import delivery_of
from channels.email.esp.session import EspSession
from tests.channels.email_letters import NOW
from tests.channels.esp_letters import a_letter, a_recipient, batch, recipients, session
from tests.examples import some_now
from tests.servers import esp_server as services
from tests.servers.esp_server import KEY, EspServer, Reply

pytestmark = pytest.mark.usefixtures("loopback_allowed")
BUSY = [Reply(503, {"message": "busy"}), Reply(429, {"message": "too many"}, {"Retry-After": "120"})]


@pytest.fixture
def mailgun() -> Iterator[EspServer]:
    with EspServer(services.mailgun) as server:
        yield server


@pytest.fixture
def postmark() -> Iterator[EspServer]:
    with EspServer(services.postmark) as server:
        yield server


def one(to: EspSession, core: str = "ada@example.test") -> Outcome:
    """Return the outcome of one message, sent singly as by the engine."""
    message = EmailChannel().compose(a_letter(), a_recipient(7, core=core))
    return to.send(message, key="key-7", begun_at=None, now=NOW)


def filled(text: str, variables: dict[str, str]) -> str:
    """Fill in variables as Mailgun does."""
    for name, value in variables.items():
        text = text.replace(f"%recipient.{name}%", value)
    return text


# --- what the services get


def test_mailgun_gets_the_letter_once_and_each_readers_own_words_beside_it(mailgun: EspServer) -> None:
    outcomes = batch(session("mailgun", mailgun))
    assert [outcome.remote_id for outcome in outcomes if isinstance(outcome, Sent)] == [
        "<1@mg.example.org>"
    ] * 3
    (request,) = mailgun.requests
    assert request.path == "/v3/mg.example.org/messages"
    form, variables = request.form, json.loads(request.form["recipient-variables"])
    assert sorted(variables) == [f"reader{n}@example.test" for n in (1, 2, 3)]
    second = variables["reader2@example.test"]
    assert filled(form["subject"], second) == "Bees for Reader 2"
    assert filled(form["text"], second).startswith(
        "Dear Reader 2,\n\nbees.\n\nTo leave: https://letters.example"
    )
    assert '<a href="https://letters.example.org/unsubscribe/2-abc/">leave</a>' in filled(
        form["html"], second
    )
    assert filled(form["h:List-Unsubscribe"], second).startswith(
        "<https://letters.example.org/unsubscribe/2-abc/>"
    )
    assert form["h:List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert form["o:tag"] == "example-weekly"
    assert form["o:tracking-opens"] == form["o:tracking-clicks"] == "no"
    assert delivery_of({METADATA: filled(form[f"v:{METADATA}"], second)}) == 2


def test_values_are_escaped_for_html_and_nowhere_else(mailgun: EspServer) -> None:
    batch(session("mailgun", mailgun), [a_recipient(1, name="<b> & Co"), a_recipient(2)])
    variables = json.loads(mailgun.requests[0].form["recipient-variables"])["reader1@example.test"]
    assert "Dear &lt;b&gt; &amp; Co" in filled(mailgun.requests[0].form["html"], variables)
    assert filled(mailgun.requests[0].form["subject"], variables) == "Bees for <b> & Co"


def test_what_looks_like_a_merge_field_in_a_post_stays_text(mailgun: EspServer) -> None:
    post = "Write %recipient.email% and %unsubscribe_url%, 100% safe"
    batch(session("mailgun", mailgun), mail=a_letter(text=post, html=f"<p>{post}</p>", subject=post))
    form = mailgun.requests[0].form
    variables = json.loads(form["recipient-variables"])["reader1@example.test"]
    assert variables["opening"] == "%"
    assert filled(form["text"], variables).strip() == post
    assert filled(form["subject"], variables) == post
    assert form["html"].strip() == "<p>Write &#37;recipient.email% and &#37;unsubscribe_url%, 100% safe</p>"


def test_sparkpost_fills_its_own_fields_and_no_braces_of_a_post(loopback_allowed: None) -> None:
    with EspServer(services.sparkpost) as server:
        text = f"{{{{ post }}}} {{{a_letter().placeholders['toemail']}}}"
        batch(session("sparkpost", server), mail=a_letter(text=text))
        sent = server.requests[0].json
    content, first = sent["content"], sent["recipients"][0]
    text = content["text"]
    for name, value in first["substitution_data"].items():
        text = text.replace(f"{{{{{{{name}}}}}}}", value)
    assert text.strip() == "{{ post }} {reader1@example.test}"
    assert "@media print{p{color:red}}" in content["html"]
    assert delivery_of(first["metadata"]) == 1
    assert first["address"]["header_to"] == "Reader 1 <reader1@example.test>"


@pytest.mark.filterwarnings("ignore:django-anymail has dropped")
def test_sendgrid_puts_the_values_where_the_holes_are() -> None:
    with EspServer(services.sendgrid) as server:
        outcomes = batch(session("sendgrid", server))
        sent = server.requests[0].json
    assert all(isinstance(outcome, Sent) and outcome.remote_id for outcome in outcomes)
    for number, each in enumerate(sent["personalizations"], 1):
        text, html = (part["value"] for part in sent["content"])
        for field, value in each["substitutions"].items():
            text, html = text.replace(field, value), html.replace(field, value)
        assert text.startswith(f"Dear Reader {number},")
        assert f"unsubscribe/{number}-abc/" in html
        assert [to["email"] for to in each["to"]] == [f"reader{number}@example.test"]
        assert f"unsubscribe/{number}-abc/" in each["headers"]["List-Unsubscribe"]
        assert delivery_of(each["custom_args"]) == number


def test_postmark_gets_a_list_of_whole_messages(postmark: EspServer) -> None:
    outcomes = batch(session("postmark", postmark, more="&stream=broadcast"))
    assert outcomes == [Sent("1-0"), Sent("1-1"), Sent("1-2")]
    (request,) = postmark.requests
    assert request.path == "/v3/email/batch"
    for number, message in enumerate(request.json, 1):
        own = {field["Name"]: field["Value"] for field in message["Headers"]}
        assert message["To"] == f"Reader {number} <reader{number}@example.test>"
        assert message["Subject"] == f"Bees for Reader {number}"
        assert message["TextBody"].startswith(f"Dear Reader {number},")
        assert f"unsubscribe/{number}-abc/" in message["HtmlBody"]
        assert f"unsubscribe/{number}-abc/" in own["List-Unsubscribe"]
        assert own["List-Id"] == "Example Weekly <example-weekly.127.0.0.1>"
        assert delivery_of(message["Metadata"]) == number
        assert (message["Tag"], message["TrackOpens"]) == ("example-weekly", False)
        assert message["MessageStream"] == "broadcast"


@pytest.mark.parametrize(
    ("esp", "where", "subject", "text", "more"),
    [
        ("resend", "", "subject", "text", ""),
        ("mailjet", "Messages", "Subject", "TextPart", ":s3cret"),
        ("brevo", "messageVersions", "subject", "textContent", ""),
        ("mailtrap", "requests", "subject", "text", ""),
    ],
)
def test_each_service_gets_each_readers_own_letter(
    esp: str, where: str, subject: str, text: str, more: str
) -> None:
    with EspServer(getattr(services, esp)) as server:
        outcomes = batch(session(esp, server, key=f"{KEY}{more}"))
        (request,) = server.requests
    assert all(isinstance(outcome, Sent) and outcome.remote_id for outcome in outcomes)
    assert len({outcome.remote_id for outcome in outcomes if isinstance(outcome, Sent)}) == 3
    for number, message in enumerate(request.json[where] if where else request.json, 1):
        whole = json.dumps(message)
        assert message[subject] == f"Bees for Reader {number}"
        assert message[text].startswith(f"Dear Reader {number},")
        assert whole.count(f"unsubscribe/{number}-abc/") == 3
        assert f"reader{number}@example.test" in whole
        assert METADATA in whole
        assert not any(f"reader{other}@" in whole for other in {1, 2, 3} - {number})


@pytest.mark.parametrize("esp", ["mailgun", "postmark", "resend", "brevo", "mailtrap"])
def test_one_message_goes_by_itself(esp: str) -> None:
    with EspServer(getattr(services, esp)) as server:
        assert isinstance(one(session(esp, server)), Sent)
        said = server.requests[0].body.decode()
    assert "Bees" in said
    assert "unsubscribe" in said
    assert METADATA in said


@pytest.mark.slow
def test_more_than_a_request_takes_go_in_several() -> None:
    with EspServer(services.resend) as server:
        to = session("resend", server)
        outcomes = batch(to, recipients(count=230))
        assert to.batch == 100
    assert [len(request.json) for request in server.requests] == [100, 100, 30]
    assert len({outcome.remote_id for outcome in outcomes if isinstance(outcome, Sent)}) == 230


@pytest.mark.slow
def test_large_letters_go_in_smaller_groups(postmark: EspServer) -> None:
    batch(session("postmark", postmark), recipients(count=5), a_letter(html="<p>" + "bees " * 600_000))
    assert [isinstance(request.json, list) for request in postmark.requests] == [True, True, False]


def test_names_and_addresses_of_all_languages_arrive(postmark: EspServer) -> None:
    whom = [a_recipient(1, core="ada@xn--bcher-kva.test", name='Žofie "Z", Ltd.'), a_recipient(2, name="李")]
    outcomes = batch(session("postmark", postmark), whom, a_letter(newsletter_title="Žluťoučký"))
    assert outcomes == [Sent("1-0"), Sent("1-1")]
    first = postmark.requests[0].json[0]
    assert first["To"] == '"Žofie \\"Z\\", Ltd." <ada@xn--bcher-kva.test>'
    assert {"Name": "List-Id", "Value": "<example-weekly.127.0.0.1>"} in first["Headers"]


# --- what their answers come to


@pytest.mark.parametrize("reply", BUSY, ids=["503", "429"])
@pytest.mark.parametrize("esp", ["mailgun", "postmark"])
def test_a_busy_service_stops_the_lane_as_long_as_it_says(esp: str, reply: Reply) -> None:
    with EspServer(getattr(services, esp)) as server:
        server.says(reply)
        outcomes = [*batch(session(esp, server)), one(session(esp, server))]
    for outcome in outcomes:
        assert isinstance(outcome, Temporary)
        assert outcome.stops_lane
        assert outcome.retry_at == (NOW + timedelta(seconds=120) if reply.status == 429 else None)


@pytest.mark.parametrize("esp", ["mailgun", "postmark"])
def test_a_wrong_key_stops_the_lane_and_is_not_shown(esp: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with EspServer(getattr(services, esp)) as server:
        to = session(esp, server, key="wr0ng-key")
        server.says(Reply(401, {"ErrorCode": 10, "Message": "No account with the key wr0ng-key"}))
        outcomes = batch(to)
    for outcome in outcomes:
        assert isinstance(outcome, Temporary)
        assert outcome.stops_lane
        assert "EMAIL_URL" in outcome.text
        assert "No account with the key …" in outcome.text
    assert "wr0ng-key" not in repr(outcomes) + repr(to.target) + caplog.text
    assert len(server.requests) == 1


def test_some_refused_do_not_keep_the_letter_from_the_others(postmark: EspServer) -> None:
    cores = ("a@example.test", "b@inactive.test", "c@refused.test", "d@example.test")
    outcomes = batch(session("postmark", postmark), recipients(*cores))
    assert [type(outcome) for outcome in outcomes] == [Sent, Permanent, Permanent, Sent]
    assert isinstance(outcomes[1], Permanent)
    assert "suppression list" in outcomes[1].text
    assert isinstance(outcomes[2], Permanent)
    assert outcomes[2].disables


def test_a_strange_refusal_of_one_is_not_taken_for_all(postmark: EspServer) -> None:
    outcomes = batch(session("postmark", postmark), recipients("a@example.test", "b@strange.test"))
    assert outcomes == [Sent("1-0"), Temporary("Postmark refused this email: Invalid metadata content.")]
    assert len(postmark.requests) == 1


def test_one_whom_the_service_refuses_is_found_among_many(mailgun: EspServer) -> None:
    cores = [f"reader{n}@{'refused' if n == 37 else 'example'}.test" for n in range(1, 65)]
    outcomes = batch(session("mailgun", mailgun), recipients(*cores))
    assert [number for number, outcome in enumerate(outcomes, 1) if not isinstance(outcome, Sent)] == [37]
    assert isinstance(outcomes[36], Permanent)
    sent_to = [name for taken in mailgun.taken for name in _addresses(taken.form)]
    assert len(sent_to) == len(set(sent_to)) == 63
    assert len(mailgun.requests) <= 1 + 2 * 6


def _addresses(form: dict[str, str]) -> list[str]:
    return list(json.loads(form["recipient-variables"])) if "recipient-variables" in form else [form["to"]]


def test_a_letter_that_is_refused_as_such_fails_nobody_and_is_not_tried_for_each() -> None:
    with EspServer(services.resend) as server:
        server.says(Reply(422, {"message": "Something about this letter."}))
        outcomes = batch(session("resend", server), recipients(count=100))
        assert {type(outcome) for outcome in outcomes} == {Temporary}
        assert len(server.requests) < 20


def test_a_sender_that_is_not_verified_stops_the_lane(mailgun: EspServer) -> None:
    mailgun.says(Reply(400, {"message": "The sender's address is not verified"}))
    for outcome in [*batch(session("mailgun", mailgun)), one(session("mailgun", mailgun))]:
        assert isinstance(outcome, Temporary)
        assert outcome.stops_lane
    assert len(mailgun.requests) == 2


def test_mailjet_says_of_each_what_became_of_it() -> None:
    with EspServer(services.mailjet) as server:
        to = session("mailjet", server, key=f"{KEY}:s3cret")
        outcomes = batch(to, recipients("a@example.test", "b@refused.test", "c@example.test"))
    assert [type(outcome) for outcome in outcomes] == [Sent, Permanent, Sent]
    assert "invalid email address" in str(outcomes[1])


@pytest.mark.parametrize("esp", ["mailgun", "postmark"])
def test_a_service_that_cannot_be_reached_got_nothing(esp: str) -> None:
    with EspServer(getattr(services, esp)) as server:
        to = session(esp, server)
    for outcome in batch(to):
        assert outcome == Temporary(f"Nothing was sent: {to.target.name} can’t be reached.", stops_lane=True)


def test_a_time_out_before_the_request_is_temporary() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as full, EspServer(services.mailgun) as server:
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        server_url, port = server.url, full.getsockname()[1]
        to = session("mailgun", server, seconds=0.5)
        to.target.options["api_url"] = server_url.replace(server_url.split(":")[2].split("/")[0], str(port))  # type: ignore[index]
        outcomes = batch(to)
        for each in waiting:
            each.close()
    assert {type(outcome) for outcome in outcomes} == {Temporary}


@pytest.mark.parametrize("reply", [Reply(silent=True), Reply(hangs_up=True)], ids=["silent", "hangs up"])
@pytest.mark.parametrize("esp", ["mailgun", "postmark"])
def test_a_service_that_says_nothing_may_have_taken_it(esp: str, reply: Reply) -> None:
    with EspServer(getattr(services, esp)) as server:
        server.says(reply)
        to = session(esp, server, seconds=0.4)
        assert {type(outcome) for outcome in batch(to)} == {Ambiguous}
        server.says(None)
        assert {type(outcome) for outcome in batch(to)} == {Sent}


def test_an_answer_that_nobody_understands_may_be_an_acceptance(mailgun: EspServer) -> None:
    mailgun.says(Reply(200, "<p>Welcome</p>", {"Content-Type": "text/html"}))
    assert {type(outcome) for outcome in batch(session("mailgun", mailgun))} == {Ambiguous}


@pytest.mark.parametrize("answer", some_now([[], {}, "x", 7, None, {"Messages": []}, [{}], [[]]]))
@pytest.mark.parametrize(
    "esp", some_now(["mailgun", "postmark", "resend", "mailjet", "sparkpost", "mailtrap"])
)
def test_no_answer_breaks_the_session(esp: str, answer: Any) -> None:
    with EspServer(getattr(services, esp)) as server:
        server.says(Reply(200, json.dumps(answer)))
        to = session(esp, server, key=f"{KEY}:s3cret" if esp == "mailjet" else KEY)
        outcomes = [*batch(to), one(to)]
    assert len(outcomes) == 4
    assert not any(isinstance(outcome, Sent | Permanent) for outcome in outcomes)


def test_a_sender_that_is_no_address_keeps_the_letter_here(mailgun: EspServer) -> None:
    outcomes = batch(session("mailgun", mailgun), mail=a_letter(from_email="nobody"))
    assert {type(outcome) for outcome in outcomes} == {Temporary}
    assert mailgun.requests == []


def test_a_redirect_is_not_followed_and_the_key_goes_nowhere(mailgun: EspServer) -> None:
    with EspServer(services.mailgun) as elsewhere:
        mailgun.says(Reply(307, "", {"Location": f"{elsewhere.url}mg.example.org/messages"}))
        for outcome in batch(session("mailgun", mailgun)):
            assert isinstance(outcome, Temporary)
            assert outcome.stops_lane
        assert elsewhere.requests == []


def test_a_private_address_is_not_called(mailgun: EspServer, settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    for outcome in batch(session("mailgun", mailgun)):
        assert isinstance(outcome, Temporary)
        assert "ALLOW_PRIVATE_NETWORKS" in outcome.text
    assert mailgun.requests == []


def test_a_recipient_for_whom_no_message_can_be_made_stops_nobody(mailgun: EspServer) -> None:
    whom = recipients("a@example.test", "b@example.test>, <c@example.test", "d@example.test")
    outcomes = batch(session("mailgun", mailgun), whom)
    assert [type(outcome) for outcome in outcomes] == [Sent, Temporary, Sent]


def test_the_channel_takes_the_service_that_the_url_names(settings: Any, postmark: EspServer) -> None:
    settings.EMAIL_URL = f"anymail+postmark://{KEY}@example.org?api_url={postmark.url}"
    to = EmailChannel().connect(LaneFacts("email", "default"))
    assert isinstance(to, EspSession)
    assert to.batch == 500
    assert one(to) == Sent("1-0")
    to.close()
