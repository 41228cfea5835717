"""Build the letter that a channel composes from database rows, short mails, and the site's own."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils import translation
from django.utils.translation import gettext

from channels.http.links import sms_parts
from channels.languages import spoken
from channels.letter import Letter, LetterError
from channels.sms.message import sms_text
from common.languages import spoken_variety
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.ports.hooks import MailFacts
from common.refused import Refused
from common.secrets import decrypt, encrypt
from common.truncation import FittingPart, fit_parts, plain_line
from delivery.accounts.accounts import keeps_letters, sender_of, sends_nothing, usual_sender
from delivery.lanes.lanes import mail_to
from delivery.letters.pages import ACCOUNT_MAILS, PASSWORD_RESET, newsletter_mail, reset_context
from delivery.letters.samples import sample_of
from delivery.links import archive_url, issue_url
from delivery.models import Delivery, Issue, IssueVersion
from delivery.rendering.errors import Rendered
from delivery.rendering.subjects import marked_as_test
from feeds.parsing.entry import Entry
from subscriptions.links import manage_url, page_url
from subscriptions.models import Destination, Subscribable
from subscriptions.subscribers.leave import drop_unused
from subscriptions.subscribers.notices import CODE, code_of, is_late

# Replaces the title while its sentence is translated.
TITLE = "\0"
SHORTEST_TITLE = 20
SEALED = "sealed"


def issue_letter(issue: Issue, version: int | None = None) -> Letter:
    """Return an issue's form letter with its posts, by default the newest version.

    Raises LetterError if it was pruned.
    """
    old = None if version in (None, issue.version) else issue.versions.filter(version=version).first()
    text = issue if version in (None, issue.version) else old
    if issue.pruned_at is not None or text is None:
        raise LetterError("The content of this old issue was deleted, so it can’t be sent any more.")
    rows = old.entries if old else issue.issue_items.order_by("position").values_list("entry", flat=True)
    entries = map(Entry.from_json, rows)
    return newsletter_letter(
        issue.subscribable,
        text,
        kind=Delivery.Kind.ISSUE,
        token=issue.token,
        entries=entries,
        web_url=issue_url(issue),
        at=issue.published_at,
    )


def newsletter_letter(
    subscribable: Subscribable,
    rendered: Rendered | Issue | IssueVersion,
    *,
    kind: str,
    token: str,
    entries: Iterable[Entry],
    web_url: str = "",
    at: datetime | None = None,
) -> Letter:
    """Return a newsletter's rendered letter, issue or sample."""
    return Letter(
        kind=kind,
        newsletter=subscribable.name,
        newsletter_title=str(subscribable),
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        token=token,
        placeholders=rendered.placeholders,
        entries=tuple(entries),
        from_email=sender_of(subscribable),
        reply_to=subscribable.reply_to,
        params=subscribable.params,
        options=subscribable.options,
        archive_url=archive_url(subscribable),
        language=subscribable.language,
        is_digest=subscribable.arrangement != Subscribable.Arrangement.EACH,
        web_url=web_url,
        at=at,
        page_url=page_url(subscribable),
        description=subscribable.description,
    )


def mail_letter(row: Delivery, *, now: datetime) -> Letter:
    """Render a mail other than an issue, for one recipient."""
    if "subscribable" in row.context:
        sample = sample_letter(row, now=now)
        return replace(sample, subject=marked_as_test(sample.subject, sample.language))
    subscribable = row.subscription.subscribable if row.subscription else None
    # Such as accent and postal address.
    params = subscribable.params if subscribable else {}
    context = reset_context(row.context) if row.template == PASSWORD_RESET else opened_context(row.context)
    brief = brief_words(row, now=now) if channels.get(row.destination.kind).is_by_code else None
    if brief is not None:
        rendered = Rendered(title="", subject="", html="", text=brief)
    else:
        rendered = newsletter_mail(subscribable, row.template, context, language=row.language)
    return Letter(
        kind=row.kind,
        newsletter=subscribable.name if subscribable else "",
        newsletter_title=str(subscribable) if subscribable else "",
        **asdict(rendered),
        token=f"{row.kind}-{row.key}"[:100],
        from_email=sender_of(subscribable) if subscribable else usual_sender(row.lane.account),
        reply_to=subscribable.reply_to if subscribable else "",
        params=params,
        language=spoken(row.language),
    )


def sample_letter(row: Delivery, *, now: datetime) -> Letter:
    """Render a sample of the newsletter in the context, usually with its newest posts."""
    subscribable = Subscribable.objects.get(pk=row.context["subscribable"])
    shown = sample_of(subscribable, row.context, now=now)
    return newsletter_letter(
        subscribable,
        shown.rendered,
        kind=row.kind,
        token=f"test-{row.key}",
        entries=shown.entries,
        at=row.created_at,
    )


def brief_words(row: Delivery, *, now: datetime) -> str | None:
    """Return the text in the row's language; "" if it is too late, None if there is no brief form.

    A long newsletter title is shortened to leave room for the rest.
    """
    words = _WORDS.get(row.template)
    if words is None:
        return None
    try:
        language = spoken_variety(row.language)
    except LookupError:
        language = translation.get_language() or "en"
    with translation.override(language):
        said = words(row, row.context, now)
    if not said:
        return ""
    if TITLE not in said:
        return said
    before, _, after = said.partition(TITLE)
    title = plain_line(str(row.context.get("newsletter", "")))
    most = sms_parts(sms_text(before + title[:SHORTEST_TITLE] + after))
    parts = [FittingPart(before), FittingPart(title, cuttable=True), FittingPart(after)]
    return fit_parts(parts, lambda text: sms_parts(sms_text(text)) <= most)


def _code(row: Delivery, context: Mapping[str, Any], now: datetime) -> str:
    if is_late(float(context["expires"]), now):
        return ""
    return gettext("%(code)s is your code for %(newsletter)s. It works for 10 minutes.") % {
        "code": code_of(str(context["nonce"])),
        "newsletter": TITLE,
    }


def _confirmation(row: Delivery, context: Mapping[str, Any], now: datetime) -> str:
    return gettext("To get %(newsletter)s by text message, open %(url)s") % {
        "newsletter": TITLE,
        "url": context["confirm_url"],
    }


def _welcome(row: Delivery, context: Mapping[str, Any], now: datetime) -> str:
    """Include the words that phone networks require in a first message."""
    url = manage_url(row.subscription) if row.subscription else ""
    return gettext("%(newsletter)s will come to this number. Answer STOP to leave, or open %(url)s") % {
        "newsletter": TITLE,
        "url": url,
    }


def _farewell(row: Delivery, context: Mapping[str, Any], now: datetime) -> str:
    return gettext("You won’t get %(newsletter)s at this number any more.") % {"newsletter": TITLE}


_WORDS: Mapping[str, Callable[[Delivery, Mapping[str, Any], datetime], str]] = {
    CODE: _code,
    "confirmation": _confirmation,
    "already": _welcome,
    "welcome": _welcome,
    "farewell": _farewell,
}


class SiteMailByLane:
    """Sends through the default account, before all letters."""

    def is_sent(self) -> bool:
        return not (keeps_letters() or sends_nothing())

    def send(
        self, *, address: str, template: str, context: MailFacts, now: datetime, language: str = ""
    ) -> None:
        try:
            parsed = channels.get("email").parse_destination({"email": address})
        except InvalidDestination as error:
            raise Refused(str(error), "email") from error
        destination = Destination.at(parsed, now=now)
        links = {name: str(value) for name, value in context.items() if name.endswith("_url")}
        shown: dict[str, Any] = {name: value for name, value in context.items() if name not in links}
        mail = mail_to(
            destination,
            kind=Delivery.Kind.ALERT,
            key=f"{template}:{uuid.uuid4().hex}",
            template=template,
            context={**shown, SEALED: encrypt(links)} if links else shown,
            now=now,
            language=language,
        )
        mail.save(force_insert=True)

    def forget(self, address: str) -> None:
        try:
            core = channels.get("email").parse_destination({"email": address}).core
        except InvalidDestination:
            return
        # Anyone can type this address, so deleting it must not delete other people's mail.
        mails = Delivery.objects.filter(destination=OuterRef("pk"))
        others = mails.exclude(template__in=ACCOUNT_MAILS)
        ours = Destination.objects.filter(~Exists(others), kind="email", core=core)
        drop_unused(ours.values_list("pk", flat=True))


def opened_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context with its encrypted links. Raises LetterError."""
    if SEALED not in context:
        return dict(context)
    try:
        links = decrypt(str(context[SEALED]))
    except ValueError as error:
        raise LetterError(str(error)) from error
    return {name: value for name, value in context.items() if name != SEALED} | links
