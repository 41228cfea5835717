"""A letter in the admin: in a frame of its own that runs nothing, as wide as a desktop or a phone."""

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from delivery.letter import Letter
from delivery.letters.build import issue_letter
from delivery.letters.preview import ada
from delivery.models import Issue
from delivery.rendering.fill import fill_header, fill_html
from delivery.rendering.placeholders import values_for


def as_it_went_out(issue: Issue) -> SafeString:
    return letter_frame(issue_letter(issue))


def letter_frame(letter: Letter) -> SafeString:
    """The letter's subject and html, filled in for a made-up reader."""
    values = values_for(letter, ada())
    subject = fill_header(letter.subject, letter.holes, values)
    html = fill_html(letter.html, letter.holes, values)
    return render_to_string("admin/letter.html", {"html": html, "subject": subject})
