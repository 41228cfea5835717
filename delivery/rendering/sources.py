"""A newsletter's own template, as an admin wrote it. Pure."""

from dataclasses import dataclass

MOST_SUBJECT = 500
MOST_HTML = 200_000
MOST_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a letter's parts. An empty `subject` or `text` stands for the usual one."""

    html: str
    text: str = ""
    subject: str = ""

    def too_long(self) -> tuple[str, str] | None:
        """The part that is longer than templates may be, and a sentence about it."""
        for part, most in (("subject", MOST_SUBJECT), ("html", MOST_HTML), ("text", MOST_TEXT)):
            if (size := len(getattr(self, part))) > most:
                return part, f"it has {size:,} characters; a template may have {most:,}"
        return None
