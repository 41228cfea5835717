"""SMS panels of newsletters and accounts."""

from typing import Any

from django.conf import settings
from django.template.defaultfilters import urlize
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from channels import channel
from channels.http.measures import SmsMeasure, sms_measure
from channels.letter import LetterError, Recipient
from channels.sms.session import callback_of
from common.admin.html import facts, link_to, paragraph
from common.clock import utcnow
from common.text import pluralize
from delivery.bridges.messages import newest_letters
from delivery.lanes.lanes import lane_for
from delivery.lanes.status import in_words, lane_status
from delivery.letters.samples import NothingToShow
from delivery.models import Lane, ServiceAccount
from subscriptions.models import Subscribable

SMS = "sms"
# Fictional number reserved by Ofcom.
SAMPLE_PHONE = Recipient(delivery_id=0, core="+447700900123", label="+44 7700 900123")
TEXTS_SHOWN = 2
NOWHERE = "Twilio cannot reach this site at {}. Set SITE_URL to get delivery reports and STOP replies."


def how_it_texts(subscribable: Subscribable) -> SafeString | str:
    """Show a newsletter's newest messages as on a phone, with costs and caps."""
    if subscribable.channel != SMS:
        return ""
    try:
        letters = newest_letters(subscribable, now=utcnow(), count=TEXTS_SHOWN)
    except (NothingToShow, LetterError) as error:
        shown = paragraph(str(error))
    else:
        texts = [channel(SMS).compose(letter, SAMPLE_PHONE) for letter in letters]
        shown = format_html_join("", "{}", ((_bubble(text.body.text, text.refusal),) for text in texts))
    account = str(subscribable.options.get("account", ""))
    lane = lane_for(kind=SMS, core="", options=subscribable.options)
    return format_html("{}{}", shown, facts([("Sent by", account), *_caps(lane)]))


def _bubble(text: str, refusal: str) -> SafeString:
    if refusal:
        return format_html('<p class="fl-alert">{}</p>', refusal)
    return format_html(
        '<div class="fl-bubble"><p>{}</p></div><p class="fl-quiet fl-measure">{}</p>',
        urlize(text),
        measure_words(sms_measure(text)),
    )


def measure_words(measure: SmsMeasure) -> str:
    """Return a message's cost, such as “1 part of 160, 98 used”."""
    parts = f"{pluralize(measure.parts, 'part')} of {measure.room}"
    return f"{parts}, {measure.units} used"


def _caps(lane: Lane) -> list[tuple[str, Any]]:
    status = lane_status(lane, utcnow())
    used = f"{status.used.day:,} within 24 hours" if status.counts else "not counted"
    return [
        ("Its caps", format_html("{} ({})", ", ".join(in_words(lane, utcnow())) or "none", link_to(lane))),
        ("Sent lately", used),
    ]


def what_twilio_needs(account: ServiceAccount) -> SafeString | str:
    """Show an account's use, its caps, and the URLs that Twilio must know."""
    if account.kind != SMS:
        return ""
    lane = lane_for(kind=SMS, core="", options={"account": account.name})
    inbound = format_html("<code>{}/sms/{}/inbound/</code>", settings.SITE_URL, account.name)
    told = paragraph(
        "At Twilio, under your number or messaging service, set the webhook for incoming messages to this"
        " address, by POST, so that subscribers can answer STOP, START and HELP."
    )
    unreachable = "" if callback_of(account.name) else paragraph(NOWHERE.format(settings.SITE_URL))
    rows = [("Incoming messages", inbound), *_caps(lane)]
    return format_html("{}{}{}", facts(rows), told, unreachable)
