"""A letter in the admin: in a frame of its own that runs nothing, as wide as a desktop or a phone."""

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin.html import paragraph
from common.clock import utcnow
from delivery.letter import Letter
from delivery.letters.build import issue_letter, sample_letter
from delivery.letters.preview import ada
from delivery.letters.samples import NothingToShow, being_collected
from delivery.models import Delivery, Issue
from delivery.rendering.errors import LetterError
from delivery.rendering.fill import fill_header, fill_html
from delivery.rendering.placeholders import values_for
from subscriptions.models import Subscribable

COLLECTED = "The next issue as it stands: with what is being collected."
NOTHING_COLLECTED = (
    "Nothing is being collected at the moment. These are the newest posts, to show how it looks."
)


def letter_preview(subscribable: Subscribable) -> SafeString | str:
    """The letter with what is being collected, or else the newest posts; nothing for a bridge."""
    if subscribable.channel != "email":
        return ""
    row = Delivery(kind=Delivery.Kind.TEST, key="preview", context={"subscribable": subscribable.pk})
    try:
        is_collected = being_collected(subscribable, now=utcnow()) is not None
        frame = letter_frame(sample_letter(row, now=utcnow()))
        return format_html("{}{}", paragraph(COLLECTED if is_collected else NOTHING_COLLECTED), frame)
    except (NothingToShow, LetterError) as error:
        return str(error)


def as_it_went_out(issue: Issue) -> SafeString:
    return letter_frame(issue_letter(issue))


def letter_frame(letter: Letter) -> SafeString:
    """The letter's subject and html, filled in for a made-up reader."""
    values = values_for(letter, ada())
    subject = fill_header(letter.subject, letter.holes, values)
    html = fill_html(letter.html, letter.holes, values)
    return render_to_string("admin/letter.html", {"html": html, "subject": subject})
