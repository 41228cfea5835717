"""Emails to readers as posts. Nothing is fetched, and files are only listed.

Headers: RFC 2919 (List-Id), RFC 2369 and 8058 (List-Unsubscribe), RFC 5064 (Archived-At).
"""

import hashlib
import html
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.message import Message
from email.utils import getaddresses
from urllib.parse import parse_qs, unquote, urlsplit

from common.formats.written_dates import mail_date
from common.html.clean import bounded, plain
from common.mail.parts import decoded_text, decoded_words, parsed_mail, raw_field, raw_fields
from common.mail.replies import is_daemon, is_marked_as_reply, is_unanswerable
from common.text import one_line, shortened, without_controls
from feeds.parsing.entry import Entry, Person, Social
from feeds.parsing.fields import MAX_CONTENT
from feeds.parsing.media import absolute
from feeds.parsing.posts import paragraphs

MAX_RAW = 25_000_000
MAX_BODY = 5_000_000
MAX_HEAD = 250_000
# Of base64, 25 MB have 330,000.
MOST_LINES = 500_000
MOST_PARTS, MOST_LEVELS = 200, 20
MOST_HOPS = 50
MOST_FILES = 50
LONGEST_NAME, LONGEST_KEY, LONGEST_SUBJECT, LONGEST_URL = 200, 250, 500, 2_000
# Of a request to confirm an address.
MOST_LINKS, LONGEST_REQUEST = 25, 5_000
CONFIRM = "confirm"
_LIST = re.compile(r"(.*)<([^<>\s]{1,250})>\s*$", re.DOTALL)
_TABLE_TAG = re.compile(r"</?(table|tbody|thead|tfoot|tr|td|th|center)\b([^<>]*)>", re.IGNORECASE)
_PICTURE = re.compile(r"<img\b([^<>]{0,4000})>", re.IGNORECASE)
# Spacers, lines, and pixels that leave out a side. Cleaning drops other trackers.
_THIN = re.compile(
    r"""(?<![\w-])(?:width|height)\s*[=:]\s*["']?\s*0*[01](?:\.0*)?(?:px)?\s*(?=["'\s/;!]|\Z)""",
    re.IGNORECASE,
)
_ONE_CLICK = re.compile(r"list-unsubscribe=one-click", re.IGNORECASE)
_CONFIRM = re.compile(
    r"confirm|verif|activat|bestätig|bevestig|potwierd|bekräft|bekræft|vahvist|potvrd|подтверд|確認|确认",
    re.IGNORECASE,
)
_ABOUT_MAIL = re.compile(
    r"subscri|newsletter|e-?mail|correo|adress|address|abonn|inscri|suscri|assin|anmeld|подпис|購読|订阅",
    re.IGNORECASE,
)
_HREF = re.compile(
    r"""\bhref\s*=\s*(?:"([^"]{1,2000})"|'([^']{1,2000})'|([^\s"'<>]{1,2000}))""", re.IGNORECASE
)
_PLAIN_URL = re.compile(r"https?://[^\s<>\"'&]{1,1000}(?:&amp;[^\s<>\"'&]{1,500}){0,20}")
_DOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?", re.ASCII)


class UnfitMail(ValueError):
    """Its text: large, complex, or automatic for reports, replies and loops."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """Ways to unsubscribe, or "". `one_click` takes a POST, `page` is for people, `mailto` an address."""

    one_click: str = ""
    page: str = ""
    mailto: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class MailPost:
    """`source` identifies the list or sender. `post` has html that is not cleaned, and no guid.

    `domains`: of return path and ways to unsubscribe.
    """

    digest: str
    source: str
    title: str
    sender: str
    post: Entry
    leaving: Leaving
    domains: frozenset[str] = frozenset()


def read_mail(raw: bytes, *, now: datetime) -> MailPost:
    """Raises UnfitMail only."""
    if len(raw) > MAX_RAW or raw.count(b"\n") > MOST_LINES:
        raise UnfitMail("large")
    if len(raw) > MAX_HEAD and not re.search(rb"\r?\n\r?\n", raw[:MAX_HEAD]):
        raise UnfitMail("complex")
    try:
        message = parsed_mail(raw, most_parts=MOST_PARTS)
        if not message.keys():
            raise UnfitMail("complex")
        if _is_automatic(message):
            raise UnfitMail("automatic")
        return _post(message, raw, now)
    except UnfitMail:
        raise
    except Exception as error:  # Unreadable, or the parser expects friendly input
        raise UnfitMail("complex") from error


def _is_automatic(message: Message) -> bool:
    hops = sum(1 for _ in raw_fields(message, "received"))
    is_report = message.get_content_type() == "multipart/report"
    replies = is_marked_as_reply(message) or is_daemon(message) or is_unanswerable(message)
    return replies or is_report or hops > MOST_HOPS


def _post(message: Message, raw: bytes, now: datetime) -> MailPost:
    name, address = _sender(message)
    key, title = _source(message, name, address)
    leaving = leaving_of(message)
    body, files = _Body(), ""
    markup = body.of(message, 0)
    if body.files:
        lines = (f"<li>📎 {html.escape(name)} ({size_words(size)})</li>" for name, size in body.files)
        files = f"<ul>{''.join(lines)}</ul>"
    markup = bounded(without_layout(markup), MAX_CONTENT - len(files))
    markup = _PICTURE.sub(lambda tag: "" if _THIN.search(tag[1]) else tag[0], markup) + files
    subject = shortened(one_line(decoded_words(raw_field(message, "subject"))), LONGEST_SUBJECT)
    confirm = confirmation_in(markup, subject)
    date = mail_date(raw_field(message, "date"))
    domain = address.rpartition("@")[2]
    post = Entry(
        "",
        title=subject,
        link=absolute(raw_field(message, "archived-at").strip(" <>"), ""),
        authors=(name,),
        content=markup,
        published=min(date, now) if date and date.year > 1990 else None,
        # Nothing relative leads to this site.
        base=f"https://{domain if _DOMAIN.fullmatch(domain) else 'mail.invalid'}/",
        social=Social(people=(Person(name),), relations=((CONFIRM, confirm),) if confirm else (), kind=""),
    )
    identity = raw_field(message, "message-id").strip()[:1_000].encode("utf-8", "replace") or raw
    ways = (leaving.one_click, leaving.page)
    domains = {
        raw_field(message, "return-path").strip(" <>").rpartition("@")[2].lower(),
        leaving.mailto.rpartition("@")[2].lower(),
        *(urlsplit(url).hostname or "" for url in ways),
    }
    return MailPost(
        digest=hashlib.sha256(identity).hexdigest(),
        source=key,
        title=title,
        sender=address,
        post=post,
        leaving=leaving,
        domains=frozenset(filter(None, domains)),
    )


def _sender(message: Message) -> tuple[str, str]:
    """Return a name, which is never empty, and the address in lower case."""
    pairs = getaddresses([raw_field(message, "from")[:2_000]])
    name, address = next((pair for pair in pairs if "@" in pair[1]), pairs[0] if pairs else ("", ""))
    address = without_controls(one_line(address)).lower()[:LONGEST_KEY]
    return shortened(one_line(decoded_words(name)), LONGEST_NAME) or address or "?", address


def _source(message: Message, name: str, address: str) -> tuple[str, str]:
    match = _LIST.fullmatch(raw_field(message, "list-id")[:LONGEST_URL])
    if match is None:
        return address or "?", name
    phrase = one_line(decoded_words(match[1])).strip('" ')
    return without_controls(match[2]).lower(), shortened(phrase, LONGEST_NAME) or name


def leaving_of(message: Message) -> Leaving:
    field = re.sub(r"\s", "", raw_field(message, "list-unsubscribe")[: 4 * LONGEST_URL])
    ways = [way[:LONGEST_URL] for way in re.findall(r"<([^<>]+)>", field)[:10]]
    pages = [url for way in ways if (url := absolute(way, ""))]
    posts = _ONE_CLICK.search(raw_field(message, "list-unsubscribe-post")[:200])
    secure = next((url for url in pages if url.startswith("https://")), "")
    mailto = next((way for way in ways if way.lower().startswith("mailto:")), "")
    address, _, query = mailto[7:].partition("?")
    # Commas would name several.
    address = one_line(unquote(address)).partition(",")[0][:LONGEST_KEY]
    subject = parse_qs(query.replace("+", "%2B"), max_num_fields=20).get("subject", [""])[0]
    return Leaving(
        one_click=secure if posts else "",
        page=next(iter(pages), ""),
        mailto=address if "@" in address else "",
        subject=shortened(one_line(without_controls(subject)), LONGEST_NAME) or "unsubscribe",
    )


class _Body:
    """Collects files, and counts characters."""

    def __init__(self) -> None:
        self.files: list[tuple[str, int]] = []
        self._size = 0

    def of(self, part: Message, level: int) -> str:
        """Return the html of a part. Raises UnfitMail."""
        if level > MOST_LEVELS:
            raise UnfitMail("complex")
        # Some programs omit the semicolon after it, or write another boundary.
        kind, payload = part.get_content_type().split()[0], part.get_payload()
        if kind.startswith("multipart/") and isinstance(payload, str):
            kind = "text/plain"
        if kind.startswith("multipart/") and isinstance(payload, list):
            children = [child for child in payload if isinstance(child, Message)]
            bodies = [(self.of(child, level + 1), child) for child in children]
            if kind == "multipart/alternative":
                rich = [text for text, child in bodies if text and child.get_content_type() != "text/plain"]
                return (rich or [text for text, _ in bodies if text] or [""])[-1]
            return "".join(text for text, _ in bodies)
        name = _file_name(part)
        is_file = part.get_content_disposition() == "attachment" or (bool(name) and kind != "text/html")
        if kind not in ("text/html", "text/plain") or is_file:
            # Pictures with an id are part of the text, which is shown without them.
            if name and not (kind.startswith("image/") and "content-id" in part):
                self.files = [*self.files, (name, _size(part))][:MOST_FILES]
            return ""
        text = without_controls(decoded_text(part, MAX_BODY + 1))
        self._size += len(text)
        if self._size > MAX_BODY:
            raise UnfitMail("large")
        return text if kind == "text/html" else paragraphs(text)


def _file_name(part: Message) -> str:
    payload = part.get_payload()
    if isinstance(payload, list):
        inner = payload[0] if payload and isinstance(payload[0], Message) else part
        return shortened(one_line(decoded_words(raw_field(inner, "subject"))), LONGEST_NAME) or "message"
    return shortened(one_line(decoded_words(without_controls(part.get_filename() or ""))), LONGEST_NAME)


def _size(part: Message) -> int:
    """Return octets, nearly: nothing is decoded."""
    payload = part.get_payload()
    if not isinstance(payload, str):
        return 0
    is_base64 = raw_field(part, "content-transfer-encoding").strip().lower() == "base64"
    return len(payload) * 3 // 4 if is_base64 else len(payload)


def size_words(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{max(size // 1_000, 1)} kB"


def without_layout(markup: str) -> str:
    """Replace tables that only arrange, which are nested or say so. Linear time."""
    pieces = markup.split("<!--")
    markup = pieces[0] + "".join(piece.partition("-->")[2] for piece in pieces[1:])
    lower = markup.lower()
    if lower.count("<table") < 2 and "presentation" not in lower:
        return markup
    # Hidden elements stay, so that cleaning drops them.
    kept: dict[str, list[bool]] = defaultdict(list)

    def block(tag: re.Match[str]) -> str:
        name, values = tag[1].lower(), tag[2]
        is_end = tag[0].startswith("</")
        if not is_end:
            kept[name].append(name in ("td", "th") or "none" in values.lower())
            return f"<div{values.rstrip('/')}>" if kept[name][-1] else ""
        return "</div>" if kept[name] and kept[name].pop() else ""

    return _TABLE_TAG.sub(block, markup)


def confirmation_in(markup: str, subject: str) -> str:
    """Return the link of a message that asks to confirm a subscription, or ""."""
    if len(markup) > 200_000 or not _CONFIRM.search(f"{subject} {markup[:20_000]}"):
        return ""
    text = plain(markup)
    links = list(_links(markup))
    if len(text) > LONGEST_REQUEST or len(links) > MOST_LINKS:
        return ""
    asks = _CONFIRM.search(f"{subject} {text[:1_000]}") and _ABOUT_MAIL.search(f"{subject} {text[:2_000]}")
    named = (url for url, words in links if _CONFIRM.search(words) or _CONFIRM.search(url))
    return next(named, "") if asks else ""


def _links(markup: str) -> Iterator[tuple[str, str]]:
    """Yield up to MOST_LINKS + 1 addresses with their words; plain texts have only addresses."""
    pieces = re.split(r"<a\s", markup, flags=re.IGNORECASE)[1 : MOST_LINKS + 2]
    for piece in pieces:
        tag, _, rest = piece[:8_000].partition(">")
        match = _HREF.search(tag)
        if match and (url := absolute(html.unescape(match[1] or match[2] or match[3]), "")):
            yield url, plain(re.split("</a", rest[:2_000], maxsplit=1, flags=re.IGNORECASE)[0])
    if not pieces:
        for match in list(_PLAIN_URL.finditer(markup[:20_000]))[: MOST_LINKS + 1]:
            if url := absolute(html.unescape(match[0]).rstrip(".,;:)"), ""):
                yield url, ""
