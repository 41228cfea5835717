"""Built-in mailbox for letters kept because there is no mail server yet."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.parser import BytesHeaderParser
from email.utils import parseaddr
from functools import wraps
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.admin.views.decorators import staff_member_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import BinaryField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Substr
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from common.access import opens_for
from common.admin.html import short_when
from common.admin.lists import BoundedPaginator, newest
from common.clock import utcnow
from common.text import folded, one_line
from delivery.accounts.accounts import keeps_letters
from delivery.issues.progress import counts_of
from delivery.letters.pages import ACCOUNT_MAILS
from delivery.models import Delivery, Issue, MailboxMessage
from subscriptions.models import Destination, Subscribable
from subscriptions.views.pages import page

ROWS_ON_A_PAGE = 50
# No index has the order of emails' times: this many issues, and as many other emails, are sorted.
MOST_LISTED = 1_000
# With more addresses, a search is more likely for a subject.
MOST_PEOPLE_FOUND = 20
LONGEST_SEARCH = 100
# Has all headers, usually.
SEARCHED_OCTETS = 8_192
# Letters are foreign html: no scripts, origin or forms; links open in a new tab.
SANDBOX = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "img-src * data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
)


@dataclass(frozen=True, slots=True)
class Opened:
    """Headers in order; html and text may be empty."""

    headers: tuple[tuple[str, str], ...]
    html: str
    text: str


def take_apart(raw: bytes) -> Opened:
    """Parse a message, showing whatever is readable. Never raises."""
    message: EmailMessage = message_from_bytes(raw, policy=policy.default)
    headers = tuple((name, str(value)) for name, value in message.items())
    return Opened(headers=headers, html=_part(message, "html"), text=_part(message, "plain"))


def sender_in(raw: bytes) -> str:
    """Return the sender of a message. Only its beginning is needed."""
    # Parsing the body, too, takes eight times as long.
    headers, _, _ = raw.partition(b"\r\n\r\n")
    return str(BytesHeaderParser(policy=policy.default).parsebytes(headers)["From"] or "")


def _part(message: EmailMessage, sort: str) -> str:
    part = message.get_body(preferencelist=(sort,))
    if part is None:
        return ""
    try:
        return str(part.get_content())
    except (LookupError, ValueError, KeyError):
        return bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")


def embedded_staff(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Restrict a view to embedded mode and permitted staff."""
    view = opens_for(may_read)(view)

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.EMBEDDED:
            raise Http404
        response = staff_member_required(view)(request, *args, **kwargs)
        response.headers["Cache-Control"] = "no-store"
        return response

    return require_safe(wrapped)


def may_read(user: Any) -> bool:
    """Letters hold readers' addresses and keys."""
    words, models = ("view", "change"), ("delivery.{}_delivery", "subscriptions.{}_subscription")
    return all(any(user.has_perm(model.format(word)) for word in words) for model in models)


def readable_by(user: Any) -> Q:
    """Select the emails that the user may read: links to accounts would let them sign in as others."""
    return Q() if user.is_superuser else ~Q(template__in=ACCOUNT_MAILS)


class Entry(NamedTuple):
    """Row of the list: one email, or an issue with any one of its emails."""

    at: datetime
    pk: int
    is_issue: bool = False


@dataclass(frozen=True, slots=True)
class MailboxRow:
    """Email as listed. `people`: how many got its issue, if it represents that. `sender`: a name."""

    kept: MailboxMessage
    newsletter: Subscribable | None
    sender: str
    at: datetime
    when: str
    people: int = 0


@embedded_staff
@page
def mailbox(request: HttpRequest) -> HttpResponse:
    """List issues, and emails without one, newest first. With `q`, only those with its words or address."""
    words = one_line(request.GET.get("q", "")[:LONGEST_SEARCH])
    readable = readable_by(request.user)
    issues, others = list(_issues()[:MOST_LISTED]), list(_others().filter(readable)[:MOST_LISTED])
    entries = _with_words(words, issues, is_issue=True) | _with_words(words, others)
    people = _people(words.lower()) if words and " " not in words else []
    is_common = len(people) > MOST_PEOPLE_FOUND
    if people and not is_common:
        entries |= _emails_of(people, readable)
    shown = Paginator(sorted(entries, reverse=True), ROWS_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "words": words,
        "shown": shown,
        "rows": _rows(shown),
        "is_common": is_common,
        "most_addresses": MOST_PEOPLE_FOUND,
        "is_cut": MOST_LISTED in (len(issues), len(others)),
        "most": MOST_LISTED,
        "keeps": keeps_letters(),
    }
    return render(request, "pages/mailbox.html", context)


def _issues() -> "QuerySet[Any, tuple[Any, ...]]":
    """Return texts, time and an email, if one is kept. Pruned issues have none."""
    kept = MailboxMessage.objects.filter(delivery__issue=OuterRef("pk"), delivery__state="stored").order_by()
    issues = Issue.objects.filter(published_at__isnull=False, pruned_at=None).order_by("-pk")
    texts = ("title", "subject", "subscribable__title")
    return issues.values_list(*texts, "published_at", Subquery(kept.values("pk")[:1]))


def _others() -> "QuerySet[Any, tuple[Any, ...]]":
    """Return texts, time and email, unless that is pruned."""
    rows = Delivery.objects.filter(issue=None, state="stored").order_by("-pk")
    texts = ("subscription__subscribable__title", "kept_message__subject", "kept_message__recipient")
    return rows.values_list(*texts, "kept_message__stored_at", "kept_message")


def _with_words(words: str, rows: Iterable[tuple[Any, ...]], *, is_issue: bool = False) -> set[Entry]:
    asked = folded(words).split()
    return {
        Entry(at, pk, is_issue)
        for *texts, at, pk in rows
        if pk is not None and all(word in folded(" ".join(filter(None, texts))) for word in asked)
    }


def _people(word: str) -> list[int]:
    """Find addresses that begin with the word (indexed), or newer ones that contain it."""
    addresses = Destination.objects.filter(kind="email").order_by()
    found: set[int] = set()
    for rows in (addresses.filter(core__startswith=word), newest(addresses.filter(core__contains=word))):
        found.update(rows.values_list("pk", flat=True)[: MOST_PEOPLE_FOUND + 1])
    return list(found)


def _emails_of(people: Iterable[int], readable: Q) -> set[Entry]:
    rows = Delivery.objects.filter(readable, destination__in=people, kept_message__isnull=False)
    times = rows.order_by("-pk").values_list("kept_message__stored_at", "kept_message")
    return {Entry(at, pk) for at, pk in times[:MOST_LISTED]}


def _rows(entries: Iterable[Entry]) -> list[MailboxRow]:
    entries, now = list(entries), utcnow()
    heads = _related(MailboxMessage.objects.defer("raw")).annotate(
        head=Substr("raw", 1, SEARCHED_OCTETS, output_field=BinaryField())
    )
    kept = heads.in_bulk([entry.pk for entry in entries])
    counts = counts_of(kept[pk].delivery.issue_id for _, pk, is_issue in entries if is_issue and pk in kept)
    return [
        MailboxRow(
            kept=row,
            newsletter=newsletter_of(row),
            sender=next(filter(None, parseaddr(sender_in(bytes(row.head)))), ""),
            at=entry.at,
            when=short_when(entry.at, now=now),
            people=counts[row.delivery.issue_id]["stored"] if entry.is_issue else 0,
        )
        for entry in entries
        # It may have been deleted meanwhile.
        if (row := kept.get(entry.pk))
    ]


def _related(rows: "QuerySet[Any]") -> "QuerySet[Any]":
    with_newsletters = rows.select_related(
        "delivery__issue__subscribable", "delivery__subscription__subscribable"
    )
    return with_newsletters.defer("delivery__context", "delivery__issue__html", "delivery__issue__text")


def newsletter_of(kept: MailboxMessage) -> Subscribable | None:
    about = kept.delivery.issue or kept.delivery.subscription
    return about.subscribable if about else None


@embedded_staff
@page
def issue_in_mailbox(request: HttpRequest, pk: int) -> HttpResponse:
    """List an issue's emails by recipient."""
    emails = Delivery.objects.filter(issue=pk, state="stored", kept_message__isnull=False).order_by("pk")
    light = emails.select_related("kept_message").defer("context", "kept_message__raw")
    shown = BoundedPaginator(light, ROWS_ON_A_PAGE).get_page(request.GET.get("page"))
    if not shown:
        raise Http404
    first, now = _kept(request, shown[0].kept_message.pk), utcnow()
    context = {
        "first": first,
        "sender": sender_in(bytes(first.raw)),
        "newsletter": newsletter_of(first),
        "when": short_when(first.stored_at, now=now),
        "rows": [(row.kept_message, short_when(row.kept_message.stored_at, now=now)) for row in shown],
        "shown": shown,
        "people": counts_of([pk])[pk]["stored"],
        "keeps": keeps_letters(),
    }
    return render(request, "pages/mailbox_issue.html", context)


@embedded_staff
@page
def message(request: HttpRequest, pk: int) -> HttpResponse:
    kept = _kept(request, pk)
    context = {
        "kept": kept,
        "letter": take_apart(bytes(kept.raw)),
        "sender": sender_in(bytes(kept.raw)),
        "newsletter": newsletter_of(kept),
        "keeps": keeps_letters(),
    }
    return render(request, "pages/mailbox_message.html", context)


@embedded_staff
@xframe_options_sameorigin
def message_html(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the letter's html, for the frame."""
    letter = take_apart(bytes(_kept(request, pk).raw))
    response = HttpResponse(f'<base target="_blank">{letter.html}')
    response.headers["Content-Security-Policy"] = SANDBOX
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _kept(request: HttpRequest, pk: int) -> MailboxMessage:
    kept: MailboxMessage = get_object_or_404(_related(MailboxMessage.objects.all()), pk=pk)
    if not request.user.is_superuser and kept.delivery.template in ACCOUNT_MAILS:
        raise PermissionDenied
    return kept
