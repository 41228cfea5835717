"""Mails other than issues, as short as text messages."""

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

# Replaces the title while its sentence is translated.
TITLE = "\0"
SHORTEST_TITLE = 20


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
