import json
from dataclasses import dataclass, replace

from django.utils import translation
from django.utils.translation import gettext

from channels.announcement import Announcement, announcement_of
from channels.base import CannotPost
from channels.languages import spoken
from channels.letter import Letter
from channels.webpush.encryption import LONGEST_PUSH
from common.truncation import DoesNotFit, cut_at_word

# Octets; screens show less, and room remains for the text.
TITLE_OCTETS = 300
NO_PAGE = "There is no page to open. Set SITE_URL, and give the newsletter pages."


@dataclass(frozen=True, slots=True)
class Notification:
    """Data for static/feedletter/push-worker.js.

    A click opens `url`; the button with the `leave_label` leads to the unsubscribe link.
    """

    title: str
    text: str
    url: str
    leave_label: str
    icon: str = ""
    language: str = ""

    def payload(self, tag: str, leave: str, *, most: int = LONGEST_PUSH) -> bytes:
        """Return the JSON; text, then title, are cut at a word to fit. `leave` is the unsubscribe link.

        A picture whose URL leaves no room for text is omitted. Raises DoesNotFit.
        """

        def written(title: str, text: str) -> bytes:
            fields = {
                "title": title,
                "body": text,
                "url": self.url,
                "tag": tag,
                "icon": self.icon,
                "lang": self.language,
                "leave": leave,
                "leave_label": self.leave_label,
            }
            kept = {name: value for name, value in fields.items() if value}
            return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

        if self.icon and len(written(self.title, "")) > most // 2:
            return replace(self, icon="").payload(tag, leave, most=most)
        title = cut_at_word(self.title, lambda part: len(part.encode("utf-8", "replace")) <= TITLE_OCTETS)
        text = cut_at_word(self.text, lambda part: len(written(title, part)) <= most)
        title = cut_at_word(title, lambda part: len(written(part, text)) <= most)
        if len(whole := written(title, text)) > most:
            raise DoesNotFit("Its link is longer than a push message allows.")
        return whole


def notification_of(letter: Letter) -> Notification:
    """Raises CannotPost."""
    post = announcement_of(letter)
    url = letter.web_url or letter.page_url or post.link
    if not url:
        raise CannotPost(NO_PAGE)
    with translation.override(spoken(letter.language)):
        label = gettext("Stop notifications on this device")
    return Notification(
        title=post.title or post.newsletter_title or post.newsletter,
        text=notification_text(post),
        url=url,
        leave_label=label,
        # Browsers do not show pictures over http.
        icon=next((image.url for image in post.images if image.url.startswith("https:")), ""),
        language=post.language,
    )


def notification_text(post: Announcement) -> str:
    if post.own_words:
        return post.own_words
    whose = " · ".join(filter(None, (post.newsletter_title if post.title else "", post.authors)))
    more = "\n".join(f"• {line.title}" for line in post.lines) or post.summary
    return "\n".join(filter(None, (whose, more)))
