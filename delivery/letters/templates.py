"""Custom templates: versioned, previewed, and tested with difficult posts before saving."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from channels import channel
from channels.letter import Letter, LetterError, Recipient
from channels.placeholders import field_names, fill_header, fill_html, fill_text, values_for
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.refused import Refused
from delivery.accounts.dkim_keys import SigningKeys
from delivery.customisation import current, own_source, source_of, theme_of
from delivery.issues.broadcasts import LetterText
from delivery.issues.contents import Collected, issue_facts
from delivery.letters.build import newsletter_letter
from delivery.letters.pages import NOBODYS_KEY, made_up_page, mail_context
from delivery.letters.samples import Sample, entries_to_show, sample_issue, sample_mail, sample_written
from delivery.models import LetterTemplate
from delivery.rendering import engine, library
from delivery.rendering.errors import BrokenTemplate, UnknownTemplate
from delivery.rendering.facts import TemplateSource, ThemeFacts
from delivery.rendering.issue import render_issue
from delivery.rendering.mail import render_mail
from delivery.rendering.page_posts import render_page
from delivery.rendering.sandbox import client
from subscriptions.models import Subscribable, Subscription

# Title and purpose, in the order in which readers meet them.
MAIL_TEMPLATES = {
    "mails/confirmation": ("Please confirm", "Sent after sign-up, with the button that confirms it."),
    "mails/already": ("Subscribed already", "For an address that is already subscribed."),
    "mails/welcome": ("Welcome", "Sent after somebody confirms."),
    "mails/farewell": ("Farewell", "Sent after somebody unsubscribes."),
    "mails/test": ("Test message", "Sent by “Send me a test”."),
}
ISSUE_TEMPLATES = {
    "issues/post": ("Issue: one post", "An issue of a single post."),
    "issues/digest": ("Issue: several posts", "An issue of several posts: daily, weekly and so on."),
    "issues/announcement": ("Issue: only a link", "For a post whose feed has only its link."),
}
PAGE_TEMPLATES = {"pages/issue": ("Page of an issue", "In the archive, the same for everyone.")}


def validate_template(
    subscribable: Subscribable, name: str, source: TemplateSource, *, now: datetime
) -> None:
    """Raise LetterError unless the source renders and its fields exist."""
    folder, _, template = name.partition("/")
    client.check_fields(name, source, {} if folder == "pages" else field_names(subscribable.params))
    collections = (library.usual(now=now), *library.odd(now=now))
    if folder == "mails":
        _validate_mail(subscribable, template, source, now)
    elif folder == "issues":
        empty = Collected(subscribable, "sample", now, now, ())
        facts = replace(issue_facts(empty, now=now), template=template, own={name: source})
        for entries in collections:
            render_issue(replace(facts, entries=entries))
    else:
        for entries in collections:
            page = replace(made_up_page(subscribable, entries, now=now), own=source)
            render_page(page)
            render_page(replace(page, earlier=None, later=None, is_open=False))


def _validate_mail(subscribable: Subscribable, template: str, source: TemplateSource, now: datetime) -> None:
    whole = mail_context(subscribable, template, now=now)
    bare = {**whole, "page_url": "", "manage_url": "", "unsubscribe_url": "", "site_url": ""}
    theme = theme_of(subscribable)
    for context in (whole, bare):
        rendered = render_mail(
            template,
            context,
            language=subscribable.language,
            params=subscribable.params,
            theme=theme,
            own=source,
        )
        for part in ("html", "text"):
            if template == "confirmation" and context["confirm_url"] not in getattr(rendered, part):
                reason = "nobody can confirm with it: {{ confirm_url }} is missing"
                raise BrokenTemplate(f"mails/{template}", reason, part=part)


@dataclass(frozen=True, slots=True)
class KnownTemplate:
    """Mail or page. `name` is as in LetterTemplate, such as issues/digest."""

    name: str
    title: str
    about: str

    @property
    def is_page(self) -> bool:
        return self.name.startswith("pages/")


class TemplateRefused(ValidationError):
    """The template does not render; `problem` has the place and reason."""

    def __init__(self, problem: BrokenTemplate) -> None:
        self.problem = problem
        line = f"line {problem.line}: " if problem.line else ""
        sentence = f"{line}{problem.reason.rstrip('.')}."
        super().__init__({problem.part or "html": sentence[:1].upper() + sentence[1:]})


def known_templates() -> list[KnownTemplate]:
    """Return all mails and pages, letters first."""
    more = {
        f"issues/{name}": (f"Letter: {name}", "A template of this site.")
        for name in engine.letter_templates()
        if f"issues/{name}" not in ISSUE_TEMPLATES
    }
    every = {**ISSUE_TEMPLATES, **more, **MAIL_TEMPLATES, **PAGE_TEMPLATES}
    return [KnownTemplate(name, title, about) for name, (title, about) in every.items()]


def known_template(name: str) -> KnownTemplate:
    """Return one by name, which may be short: `digest` for issues/digest. Raises UnknownTemplate."""
    every = known_templates()
    for known in every:
        if name in (known.name, known.name.partition("/")[2]):
            return known
    raise UnknownTemplate(
        f"There is no template “{name}”. There are: {', '.join(one.name for one in every)}."
    )


def source_in_use(subscribable: Subscribable, name: str) -> TemplateSource:
    """Return the custom or default source, for the editor."""
    row = current(subscribable, name)
    return source_of(row) if row else engine.usual_source(name)


def save_template(
    *,
    subscribable: Subscribable,
    name: str,
    source: TemplateSource,
    author: str = "",
    note: str = "",
    now: datetime,
) -> LetterTemplate:
    """Save a new current version, unless it equals the current one.

    Raises UnknownTemplate, and TemplateRefused if it fails with difficult posts.
    """
    known_template(name)
    # Browsers send CRLF.
    html, text = (part.replace("\r\n", "\n").replace("\r", "\n") for part in (source.html, source.text))
    source = TemplateSource(html=html, text=text, subject=" ".join(source.subject.split()))
    refuse_broken(subscribable=subscribable, name=name, source=source, now=now)
    with transaction.atomic():
        _lock(subscribable)
        before = current(subscribable, name)
        if before is not None and source_of(before) == source:
            return before
        _retire(subscribable, name)
        newest = LetterTemplate.objects.filter(subscribable=subscribable, name=name).first()
        return LetterTemplate.objects.create(
            subscribable=subscribable,
            name=name,
            version=newest.version + 1 if newest else 1,
            subject=source.subject,
            html=source.html,
            text=source.text,
            note=note.strip()[:200],
            author=author[:150],
            created_at=now,
        )


def refuse_broken(*, subscribable: Subscribable, name: str, source: TemplateSource, now: datetime) -> None:
    """Raise TemplateRefused for an unusable source."""
    if not source.html.strip():
        raise TemplateRefused(BrokenTemplate(name, "write something, or go back to the default", part="html"))
    if long := source.too_long():
        part, sentence = long
        raise TemplateRefused(BrokenTemplate(name, sentence, part=part))
    try:
        validate_template(subscribable, name, source, now=now)
    except LetterError as error:
        raise TemplateRefused(_problem(name, error)) from error


def use_again(*, version: LetterTemplate, author: str = "", now: datetime) -> LetterTemplate:
    """Save an old version as the newest. Raises TemplateRefused if it no longer renders."""
    return save_template(
        subscribable=version.subscribable,
        name=version.name,
        source=source_of(version),
        author=author,
        note=f"As version {version.version}",
        now=now,
    )


@transaction.atomic
def use_default(*, subscribable: Subscribable, name: str) -> bool:
    """Return to our file, keeping versions. Return whether a custom template was in use."""
    _lock(subscribable)
    return _retire(subscribable, name) > 0


def _lock(subscribable: Subscribable) -> None:
    # Concurrent saves wait, so that version numbers are unique.
    list(Subscribable.objects.select_for_update(no_key=True).filter(pk=subscribable.pk).values_list("pk"))


def _retire(subscribable: Subscribable, name: str) -> int:
    rows = LetterTemplate.objects.filter(subscribable=subscribable, name=name, is_current=True)
    return rows.update(is_current=False)


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
    except (LetterError, InvalidDestination) as error:
        return Preview(problem=_problem(name, error))


def preview_written(*, subscribable: Subscribable, text: LetterText, now: datetime) -> Preview:
    """Preview a broadcast for Ada. Template errors are returned as `problem`."""
    name = "issues/post"
    try:
        shown = sample_written(subscribable, text, now=now)
        return _filled(letter_of(subscribable, name, shown), ada(), shown, now=now)
    except (LetterError, InvalidDestination) as error:
        return Preview(problem=_problem(name, error))


def preview_next(*, subscribable: Subscribable, theme: ThemeFacts | None = None, now: datetime) -> Preview:
    """Preview the next issue for Ada, in an unsaved look. Template errors are returned as `problem`."""
    try:
        shown = sample_issue(subscribable, "", None, now=now, make_up=True, theme=theme)
        return _filled(letter_of(subscribable, "issues/", shown), ada(), shown, now=now)
    except (LetterError, InvalidDestination) as error:
        return Preview(problem=_problem("letter", error))


def _problem(name: str, error: Exception) -> BrokenTemplate:
    return error if isinstance(error, BrokenTemplate) else BrokenTemplate(name, str(error))


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
    letter = newsletter_letter(
        subscribable,
        shown.rendered,
        kind="issue" if folder == "issues" else {"already": "confirmation"}.get(template, template),
        token="preview",  # noqa: S106
        entries=shown.entries,
    )
    return replace(letter, signing_keys=SigningKeys().of(letter.from_email))
