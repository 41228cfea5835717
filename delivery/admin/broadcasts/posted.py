"""What a browser sent to the desk of a letter."""

from django.http import HttpRequest

from delivery.admin.broadcasts.forms import PictureForm
from delivery.issues.broadcast_issue import LetterText
from delivery.issues.broadcasts import MOST_MARKDOWN
from delivery.rendering.subjects import LONGEST_SUBJECT


def words_of(form: PictureForm) -> str:
    """What is wrong with it."""
    return " ".join(str(error) for errors in form.errors.values() for error in errors)


def posted_text(request: HttpRequest) -> LetterText:
    """What stands in the form."""
    return LetterText(request.POST.get("subject", ""), request.POST.get("markdown", ""))


def in_bounds(text: LetterText) -> LetterText:
    """What is shown of a text that is too long to be saved."""
    return LetterText(text.subject[:LONGEST_SUBJECT], text.markdown[:MOST_MARKDOWN])


def seen(request: HttpRequest) -> int:
    """The version that the page showed."""
    version = request.POST.get("version", "")
    return int(version) if version.isdecimal() and len(version) < 10 else 0
