import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from django.utils import translation
from django.utils.translation import gettext

from channels.announcement import Announcement, announcement_of
from channels.languages import spoken
from channels.letter import Letter, Recipient
from channels.webpush.encryption import LONGEST_PUSH
from common.truncation import DoesNotFit, cut_at_word

# Octets; screens show less, and room remains for the text.
TITLE_OCTETS = 300
NO_PAGE = "There is no page to open. Set SITE_URL, and give the newsletter pages."


@dataclass(frozen=True, slots=True)
class Notification:
    """Data for static/feedletter/push-worker.js, unless there is a `refusal`.

    A click opens `url`; `leave` is the unsubscribe link, with `leave_label` on its button.
    """

    endpoint: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)
    title: str
    text: str
    url: str
    leave: str = field(repr=False)
    leave_label: str
    icon: str = ""
    language: str = ""
    refusal: str = ""

    def payload(self, tag: str, *, most: int = LONGEST_PUSH) -> bytes:
        """Return the JSON; text, then title, are cut at a word to fit.

        A picture whose URL leaves no room for text is omitted. Raises DoesNotFit.
        """
        if self.icon and len(self._written(self.title, "", tag)) > most // 2:
            return replace(self, icon="").payload(tag, most=most)
        title = cut_at_word(self.title, lambda part: len(part.encode("utf-8", "replace")) <= TITLE_OCTETS)
        text = cut_at_word(self.text, lambda part: len(self._written(title, part, tag)) <= most)
        title = cut_at_word(title, lambda part: len(self._written(part, text, tag)) <= most)
        written = self._written(title, text, tag)
        if len(written) > most:
            raise DoesNotFit("Its link is longer than a push message allows.")
        return written

    def _written(self, title: str, text: str, tag: str) -> bytes:
        said = {
            "title": title,
            "body": text,
            "url": self.url,
            "tag": tag,
            "icon": self.icon,
            "lang": self.language,
            "leave": self.leave,
            "leave_label": self.leave_label,
        }
        kept = {name: value for name, value in said.items() if value}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def notifier(letter: Letter) -> Callable[[Recipient], Notification]:
    said, url = announcement_of(letter), letter.web_url or letter.page_url
    # Browsers do not show pictures over http.
    icon = next((image.url for image in said.images if image.url.startswith("https:")), "")
    with translation.override(spoken(letter.language)):
        label = gettext("Stop notifications on this device")

    def notification(recipient: Recipient) -> Notification:
        secrets: Mapping[str, str] = recipient.secrets
        return Notification(
            endpoint=secrets.get("endpoint", ""),
            p256dh=secrets.get("p256dh", ""),
            auth=secrets.get("auth", ""),
            title=said.title or said.newsletter_title or said.newsletter,
            text=notification_text(said),
            url=url or said.link,
            leave=recipient.unsubscribe_url,
            leave_label=label,
            icon=icon,
            language=said.language,
            refusal="" if url or said.link else NO_PAGE,
        )

    return notification


def notification_text(said: Announcement) -> str:
    if said.own_words:
        return said.own_words
    whose = " · ".join(filter(None, (said.newsletter_title if said.title else "", said.authors)))
    more = "\n".join(f"• {line.title}" for line in said.lines) or said.summary
    return "\n".join(filter(None, (whose, more)))
