"""Parsers of mail services' events. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.rules.meaning import Meaning
from channels.rules.server_words import meaning, precise
from common.mail.replies import is_away
from delivery.bounces.service_verdicts import COMPLAINT, VERDICTS, Verdict
from delivery.rules.bounce_policy import BounceKind, feedback_kind, kind_of

# Longer values are no names.
MAX_NAME = 60
MAX_WORDS = 2_000
# Reasons of listing, in words of several services.
_LISTED = (
    ("complained", re.compile(r"complain|spam ?report|reported|as spam|\bspam\b", re.IGNORECASE)),
    ("unsubscribed", re.compile(r"unsubscri|opt(?:ed)?[ -]?out", re.IGNORECASE)),
    ("soft", re.compile(r"\bsoft", re.IGNORECASE)),
    ("bounced", re.compile(r"\bhard|bounce|invalid", re.IGNORECASE)),
)
_DIAGNOSTIC_TYPE = re.compile(r"\s*(?:smtp|x-[\w-]{1,40})\s*;\s*", re.IGNORECASE)
# Types that older versions omit.
_POSTAL_STATES = {
    "sent": "messagesent",
    "softfail": "messagedelayed",
    "hardfail": "messagedeliveryfailed",
    "held": "messageheld",
}
_POSTAL_REPORT = re.compile(r"undeliver|delivery|returned|failure|unzustellbar", re.IGNORECASE)
_RESEND_MESSAGES = (
    ("inbox was full", "transient/mailboxfull"),
    ("suppressed sending", "permanent/onaccountsuppressionlist"),
    ("too large", "transient/messagetoolarge"),
    ("hard bounce", "permanent"),
    ("general bounce", "transient/general"),
)


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """Event in the service's terms, with reasons from most to least specific.

    `words` and `status`: the mail server's. `feedback`: type of complaint (RFC 5965).
    """

    type: str
    reasons: tuple[str, ...] = ()
    words: str = ""
    status: str = ""
    feedback: str = ""


def verdict_of(service: str, facts: ServiceEvent) -> Verdict | None:
    """Return the verdict, by the server's words if clear; None if unknown."""
    table = VERDICTS.get(service, {})
    keys = (*(f"{facts.type}/{reason}" for reason in facts.reasons if reason), facts.type)
    known = next((table[key] for key in keys if key in table), None)
    if known is None:
        return None
    if known is COMPLAINT and facts.feedback:
        return Verdict(feedback_kind(facts.feedback))
    return Verdict(_by_words(facts, known.kind)) if known.by_words and known.kind else known


def _by_words(facts: ServiceEvent, otherwise: BounceKind) -> BounceKind:
    if meaning(facts.words, status=facts.status) is not Meaning.UNCLEAR:
        return kind_of(action="failed", status=facts.status, diagnostic=facts.words)
    if otherwise is not BounceKind.AUTO_REPLY or not facts.words:
        return otherwise
    # Automatic replies have no code.
    is_reply = is_away(facts.words) and not precise("", facts.words)
    return BounceKind.AUTO_REPLY if is_reply else BounceKind.SOFT


def read_event(service: str, event: Any) -> ServiceEvent:
    reader = _READERS.get(service)
    if reader is None or not isinstance(event.esp_event, Mapping):
        return ServiceEvent("")
    return reader(event.esp_event, event)


# --- one reader per service


def inner(value: object, *path: str) -> Any:
    """Return the value at a path, or None."""
    for name_at in path:
        value = value.get(name_at) if isinstance(value, Mapping) else None
    return value


def text(value: object, *path: str) -> str:
    """Return the text or number at a path, or ""."""
    value = inner(value, *path)
    return str(value)[:MAX_WORDS].strip() if isinstance(value, str | int | float) else ""


def name_at(value: object, *path: str) -> str:
    """Return `text` in lower case."""
    return text(value, *path)[:MAX_NAME].lower()


def _server_words(diagnostic: str) -> str:
    """Parse `smtp; 550 …` (RFC 3464 §2.3.6)."""
    return _DIAGNOSTIC_TYPE.sub("", diagnostic, count=1) if _DIAGNOSTIC_TYPE.match(diagnostic) else diagnostic


def _listed(words: str) -> str:
    return next((reason for reason, pattern in _LISTED if pattern.search(words)), "")


def ses_event(notice: Mapping[str, Any], recipient: Mapping[str, Any]) -> ServiceEvent:
    """Parse Amazon SES's notice about one recipient."""
    type_ = name_at(notice, "eventType") or name_at(notice, "notificationType")
    about = inner(notice, type_)
    kind, sub_type = name_at(about, "bounceType"), name_at(about, "bounceSubType")
    reasons: tuple[str, ...] = (f"{kind}/{sub_type}", kind)
    if type_ == "subscription" and _ses_unsubscribed(about):
        reasons = ("unsubscribed",)
    return ServiceEvent(
        type_,
        reasons,
        words=_server_words(text(recipient, "diagnosticCode")),
        status=text(recipient, "status"),
        feedback=name_at(about, "complaintFeedbackType"),
    )


def _ses_unsubscribed(about: object) -> bool:
    new = inner(about, "newTopicPreferences")
    topics = inner(new, "topicSubscriptionStatus")
    topics = topics if isinstance(topics, list) else []
    stays = any(name_at(topic, "subscriptionStatus") == "optin" for topic in topics)
    return inner(new, "unsubscribeAll") is True or (bool(topics) and not stays)


def _amazon_ses(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    recipients = inner(raw, "bounce", "bouncedRecipients")
    about = recipients if isinstance(recipients, list) else []
    address = str(event.recipient)
    recipient = next((one for one in about if text(one, "emailAddress") == address), None)
    return ses_event(raw, recipient or {})


def _brevo(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    reason = text(raw, "reason")
    return ServiceEvent(name_at(raw, "event"), (_listed(reason),), words=reason)


def _mailersend(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    morph = inner(raw, "data", "morph")
    words = " ".join(dict.fromkeys((text(morph, "reason"), text(morph, "readable_reason")))).strip()
    return ServiceEvent(name_at(raw, "data", "type"), words=words)


def _mailgun(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    data = inner(raw, "event-data")
    if not isinstance(data, Mapping):  # format before 2018
        code = name_at(raw, "code")
        words = " ".join((text(raw, "error"), text(raw, "notification"), text(raw, "description"))).strip()
        return ServiceEvent(name_at(raw, "event"), (code,), words=_with_code(code, words))
    status = inner(data, "delivery-status")
    code = name_at(status, "code")
    # "severity" concerns retries, not the address.
    trying = "temporary" if name_at(data, "severity") == "temporary" else ""
    words = text(status, "message") or text(status, "description")
    return ServiceEvent(
        name_at(data, "event"),
        (trying, code, name_at(data, "reason")),
        words=_with_code(code, words),
        status=text(status, "enhanced-code"),
    )


def _with_code(code: str, words: str) -> str:
    is_smtp = re.fullmatch(r"[45][0-9]{2}", code) and not words.startswith(code)
    return f"{code} {words}" if is_smtp else words


def _mailjet(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    type_, error = name_at(raw, "event"), name_at(raw, "error")
    is_hard = name_at(raw, "hard_bounce") in ("true", "1")
    reasons = (f"hard/{error}" if is_hard else "", error, "hard" if is_hard else "")
    return ServiceEvent(type_, reasons, words=text(raw, "smtp_reply") or text(raw, "comment"))


def _mailtrap(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    type_, reason = name_at(raw, "event"), text(raw, "reason")
    reasons = (name_at(raw, "bounce_category"),) if type_ == "bounce" else (_listed(reason),)
    return ServiceEvent(type_, reasons, words=text(raw, "response") or reason)


def _mandrill(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    message = inner(raw, "msg")
    reasons = [name_at(message, "bounce_description")]
    for reject in (inner(message, "reject"), inner(raw, "reject")):
        reasons += [name_at(reject, "reason"), name_at(reject)]
    reasons.append(name_at(message, "reject_reason"))
    return ServiceEvent(
        name_at(raw, "event") or name_at(raw, "type"), tuple(reasons), words=text(message, "diag")
    )


def _postal(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    payload = inner(raw, "payload")
    type_ = _POSTAL_STATES.get(name_at(payload, "status")) or name_at(raw, "event")
    details = text(payload, "details")
    if inner(payload, "bounce"):
        subject = text(payload, "bounce", "subject")
        report = "report" if _POSTAL_REPORT.search(subject) else ""
        return ServiceEvent("messagebounced", ("away" if is_away(subject) else report,), words="")
    is_listed = "suppression list" in details.lower()
    return ServiceEvent(
        type_,
        (_listed(details.lower().replace("hard fail", "bounce")) if is_listed else "",),
        words=text(payload, "output") or details,
    )


def _postmark(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    type_ = name_at(raw, "RecordType")
    if type_ == "subscriptionchange":
        reason = name_at(raw, "SuppressionReason") if inner(raw, "SuppressSending") is not False else ""
        return ServiceEvent(type_, (f"{reason}/{name_at(raw, 'Origin')}", reason))
    # Types are more specific.
    if type_ == "bounce":
        type_ = f"bounce/{name_at(raw, 'Type')}"
    return ServiceEvent(type_, words=_server_words(text(raw, "Details")))


def _resend(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    type_, data = name_at(raw, "type"), inner(raw, "data")
    if type_ == "email.suppressed":
        about = inner(data, "suppressed")
        return ServiceEvent(
            type_, (_listed(f"{text(about, 'type')} {text(about, 'message')} {text(about, 'reason')}"),)
        )
    bounce = inner(data, "bounce")
    diagnostics = inner(bounce, "diagnosticCode")
    first = diagnostics[0] if isinstance(diagnostics, list) and diagnostics else diagnostics
    kind, sub_type = name_at(bounce, "type"), name_at(bounce, "subType")
    # Missing in older events.
    message = text(bounce, "message")
    by_message = next((known for words, known in _RESEND_MESSAGES if words in message), "")
    return ServiceEvent(
        type_,
        (f"{kind}/{sub_type}", by_message, kind) if sub_type else (by_message, kind),
        words=_server_words(text(first)),
    )


def _sendgrid(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    reason = text(raw, "reason")
    no_mx = "no mx" if "unable to get mx info" in reason.lower() else ""
    reasons = (no_mx, name_at(raw, "bounce_classification"), reason[:MAX_NAME].lower(), name_at(raw, "type"))
    words = text(raw, "response") or reason
    return ServiceEvent(name_at(raw, "event"), reasons, words=words, status=text(raw, "status"))


def _sparkpost(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    classes = inner(raw, "msys")
    about = next(iter(classes.values()), None) if isinstance(classes, Mapping) else None
    words = text(about, "raw_reason") or text(about, "reason")
    reasons = (name_at(about, "bounce_class"),)
    return ServiceEvent(name_at(about, "type"), reasons, words=words, feedback=name_at(about, "fbtype"))


def _unisender_go(raw: Mapping[str, Any], event: Any) -> ServiceEvent:
    info = inner(raw, "delivery_info")
    reasons = (name_at(info, "delivery_status"),)
    return ServiceEvent(name_at(raw, "status"), reasons, words=text(info, "destination_response"))


_READERS: Mapping[str, Callable[[Mapping[str, Any], Any], ServiceEvent]] = {
    "Amazon SES": _amazon_ses,
    "Brevo": _brevo,
    "MailerSend": _mailersend,
    "Mailgun": _mailgun,
    "Mailjet": _mailjet,
    "Mailtrap": _mailtrap,
    "Mandrill": _mandrill,
    "Postal": _postal,
    "Postmark": _postmark,
    "Resend": _resend,
    "SendGrid": _sendgrid,
    "SparkPost": _sparkpost,
    "Unisender Go": _unisender_go,
}
