"""What the commands about templates share: naming one, reading files, saying which."""

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from delivery.letters.templates import KnownTemplate
from delivery.models import LetterTemplate
from delivery.rendering.facts import LONGEST_TEMPLATE_HTML
from subscriptions.management.options import add_newsletter

# As TemplateRefused names the parts.
OPTION_NAMES = {"html": "--html-file", "text": "--text-file", "subject": "--subject"}


def add_template(parser: CommandParser) -> None:
    """NAME and TEMPLATE."""
    add_newsletter(parser)
    parser.add_argument("template", metavar="TEMPLATE", help="Such as digest or mails/welcome.")


def text_file(name: str) -> str:
    """The text of a file, for argparse."""
    try:
        with Path(name).open(encoding="utf-8-sig") as file:
            # One more than there may be: the service says what is too long.
            return file.read(LONGEST_TEMPLATE_HTML + 1)
    except OSError as error:
        raise ArgumentTypeError(f"“{name}” cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ArgumentTypeError(f"“{name}” is not UTF-8.") from error


def template_row(known: KnownTemplate, row: LetterTemplate | None) -> dict[str, Any]:
    """A mail or page, and which template it has; version 0 is the default."""
    return {
        "template": known.name,
        "what": known.title,
        "version": row.version if row else 0,
        "changed": row.created_at if row else None,
        "by": row.author if row else "",
        "note": row.note if row else "",
    }
