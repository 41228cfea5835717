"""Previews of mails and pages, stored or drafted."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings

from channels import channel
from channels.letter import Letter, LetterError, Recipient
from channels.placeholders import fill_header, fill_html, fill_text, values_for
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.refused import Refused
from delivery.accounts.dkim_keys import SigningKeys
from delivery.customisation import own_source
from delivery.issues.broadcasts import LetterText
from delivery.letters.build import newsletter_letter
from delivery.letters.pages import NOBODYS_KEY, made_up_page
from delivery.letters.samples import Sample, entries_to_show, sample_issue, sample_mail, sample_written
from delivery.rendering.errors import BrokenTemplate
from delivery.rendering.facts import TemplateSource, ThemeFacts
from delivery.rendering.page_posts import render_page
from subscriptions.models import Subscribable, Subscription


class UnknownReader(Refused):
    """No subscriber has that address."""


@dataclass(frozen=True, slots=True)
class Preview:
    """Mail or page for one reader. `raw` is the message (RFC 5322); pages have none.

    `problem` is why there is nothing to show. `is_made_up`: the feeds have no posts yet.
    """

    subject: str = ""
    html: str = ""
    text: str = ""
    raw: str = ""
    is_made_up: bool = False
    problem: BrokenTemplate | None = None


def preview(
    *,
    subscribable: Subscribable,
    name: str,
    source: TemplateSource | None = None,
    reader: Recipient | None = None,
    now: datetime,
) -> Preview:
    """Preview for `reader` or the sample reader Ada, with `source` or the newsletter's template.

    Template errors are returned as `problem`.
    """
    source = source or own_source(subscribable, name)
    try:
        if source is not None and (long := source.too_long()):
            raise BrokenTemplate(name, long[1], part=long[0])
        if name.startswith("pages/"):
            entries, is_made_up = entries_to_show(subscribable, name, now=now)
            facts = made_up_page(subscribable, entries, now=now)
            html = render_page(replace(facts, own=source))
            return Preview(subject=facts.title, html=html, is_made_up=is_made_up)
        if name.startswith("mails/"):
            shown = sample_mail(subscribable, name, source, now=now)
        else:
            shown = sample_issue(subscribable, name, source, now=now, make_up=True)
        return _filled(letter_of(subscribable, name, shown), reader or ada(), shown, now=now)
    except BrokenTemplate as error:
        return Preview(problem=error)
    except (LetterError, InvalidDestination) as error:
        return Preview(problem=BrokenTemplate(name, str(error)))


def preview_written(*, subscribable: Subscribable, text: LetterText, now: datetime) -> Preview:
    """Preview a broadcast for Ada. Template errors are returned as `problem`."""
    name = "issues/post"
    try:
        shown = sample_written(subscribable, text, now=now)
        return _filled(letter_of(subscribable, name, shown), ada(), shown, now=now)
    except BrokenTemplate as error:
        return Preview(problem=error)
    except (LetterError, InvalidDestination) as error:
        return Preview(problem=BrokenTemplate(name, str(error)))


def preview_look(*, subscribable: Subscribable, theme: ThemeFacts, now: datetime) -> Preview:
    """Preview an unsaved look for Ada. Template errors are returned as `problem`."""
    try:
        shown = sample_issue(subscribable, "", None, now=now, make_up=True, theme=theme)
        return _filled(letter_of(subscribable, "issues/", shown), ada(), shown, now=now)
    except BrokenTemplate as error:
        return Preview(problem=error)
    except (LetterError, InvalidDestination) as error:
        return Preview(problem=BrokenTemplate("letter", str(error)))


def _filled(letter: Letter, reader: Recipient, shown: Sample, *, now: datetime) -> Preview:
    values = values_for(letter, reader)
    message = channel("email").compose(letter, reader)
    return Preview(
        subject=fill_header(letter.subject, letter.placeholders, values),
        html=fill_html(letter.html, letter.placeholders, values),
        text=fill_text(letter.text, letter.placeholders, values),
        raw=message.dated(now).decode("utf-8", "replace").replace("\r\n", "\n"),
        is_made_up=shown.is_made_up,
    )


def ada() -> Recipient:
    """Return a sample reader, whose links lead to pages that say that they don't work."""
    return _reader("ada@example.org", "Ada")


def find_reader(subscribable: Subscribable, address: str) -> Recipient:
    """Return a subscriber, without the keys of the subscription. Raises UnknownReader."""
    try:
        core = channels.get("email").parse_destination({"email": address}).core
    except InvalidDestination as error:
        raise UnknownReader(str(error)) from error
    rows = Subscription.objects.filter(subscribable=subscribable, destination__core=core)
    found = rows.select_related("destination").first()
    if found is None:
        raise UnknownReader(f"{address} does not subscribe to it.")
    return _reader(found.destination.label, found.display_name, core)


def _reader(address: str, name: str, core: str = "") -> Recipient:
    site = settings.SITE_URL
    return Recipient(
        delivery_id=0,
        core=core or address,
        label=address,
        name=name,
        config={"address": address},
        unsubscribe_url=f"{site}/unsubscribe/{NOBODYS_KEY}/",
        manage_url=f"{site}/manage/{NOBODYS_KEY}/",
    )


def letter_of(subscribable: Subscribable, name: str, shown: Sample) -> Letter:
    """Return a sample as a signed letter for the channel."""
    folder, _, template = name.partition("/")
    rendered = shown.rendered
    letter = newsletter_letter(
        subscribable,
        kind="issue" if folder == "issues" else {"already": "confirmation"}.get(template, template),
        token="preview",  # noqa: S106
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        placeholders=rendered.placeholders,
        entries=shown.entries,
    )
    return replace(letter, signing_keys=SigningKeys().of(letter.from_email))
