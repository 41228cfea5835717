"""Mails that are no issue, in the few words of a text message."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.utils import translation
from django.utils.translation import gettext

from channels.http.measures import sms_parts
from channels.sms.message import sms_text
from common.languages import spoken_variety
from common.truncation import FittingPart, fit_parts, plain_line
from delivery.models import Delivery
from subscriptions.links import manage_url
from subscriptions.subscribers.codes import CODE, code_of, is_late

# Stands for the title while the sentence around it is translated.
TITLE = "\0"
# So much of it has room.
SHORTEST_TITLE = 20


def brief_words(row: Delivery, *, now: datetime) -> str | None:
    """What it says, in its own language; "" where it is too late for it, None where there are no brief words.

    A newsletter's title that leaves no room for the rest is shortened.
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
    return gettext("%(code)s is your code for %(newsletter)s. It is good for 10 minutes.") % {
        "code": code_of(str(context["nonce"])),
        "newsletter": TITLE,
    }


def _confirmation(row: Delivery, context: Mapping[str, Any], now: datetime) -> str:
    return gettext("To get %(newsletter)s by text message, open %(url)s") % {
        "newsletter": TITLE,
        "url": context["confirm_url"],
    }


def _welcome(row: Delivery, context: Mapping[str, Any], now: datetime) -> str:
    """With the words that phone networks want in a first message."""
    url = manage_url(row.subscription) if row.subscription else ""
    return gettext("%(newsletter)s will come to this number. Answer STOP to leave, or open %(url)s") % {
        "newsletter": TITLE,
        "url": url,
    }


def _farewell(row: Delivery, context: Mapping[str, Any], now: datetime) -> str:
    return gettext("%(newsletter)s comes no more to this number.") % {"newsletter": TITLE}


_WORDS: Mapping[str, Callable[[Delivery, Mapping[str, Any], datetime], str]] = {
    CODE: _code,
    "confirmation": _confirmation,
    "already": _welcome,
    "welcome": _welcome,
    "farewell": _farewell,
}
