"""A letter in the admin: in a frame of its own that runs nothing, as wide as a desktop or a phone."""

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from channels.fill import fill_header, fill_html
from channels.letter import Letter
from channels.placeholders import values_for
from delivery.letters.build import issue_letter
from delivery.letters.preview import ada
from delivery.models import Issue


def as_it_went_out(issue: Issue) -> SafeString:
    return letter_frame(issue_letter(issue))


def letter_frame(letter: Letter) -> SafeString:
    """The letter's subject and html, filled in for a made-up reader."""
    values = values_for(letter, ada())
    subject = fill_header(letter.subject, letter.placeholders, values)
    html = fill_html(letter.html, letter.placeholders, values)
    return render_to_string("admin/letter.html", {"html": html, "subject": subject})
