"""Notifications on devices, on a newsletter's page."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from channels.letter import LetterError, Recipient
from channels.webpush.spec import WebPushSpec
from common.admin.html import paragraph
from common.clock import utcnow
from common.refused import Refused
from delivery.bridges.messages import looks_of, newest_letters
from subscriptions.models import Subscribable
from subscriptions.subscribers.devices import count_devices

# Nobody's: only its looks are wanted.
SAMPLE = Recipient(0, "", "")
NOBODY_TOLD = "No device is told of it so far. Its page offers that to readers."


def notification_of(subscribable: Subscribable) -> SafeString | str:
    """How its newest post would be told; nothing where devices are told nothing."""
    if not subscribable.offers_devices:
        return ""
    who = "" if count_devices(subscribable) else paragraph(NOBODY_TOLD)
    try:
        [letter] = newest_letters(subscribable, now=utcnow())
    except (Refused, LetterError) as error:
        return format_html("{}{}", who, paragraph(str(error)))
    looks = looks_of(letter, SAMPLE, kind=WebPushSpec.key)
    if looks.refusal:
        return format_html('{}<p class="fl-alert">{}</p>', who, looks.refusal)
    title, *lines = looks.text.split("\n")
    body = format_html_join("", "<br>{}", ((line,) for line in lines if line))
    said = f"{looks.length:,} of the {looks.limit:,} octets that a push has room for"
    return format_html(
        '{}<div class="fl-look"><p><strong>{}</strong>{}</p></div><p class="fl-quiet fl-measure">{}</p>',
        who,
        title,
        body,
        said,
    )
