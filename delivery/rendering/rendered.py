"""What rendering makes, and what it says when it cannot."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rendered:
    """A form letter. `holes`: field in lower case → the token for it in subject, html and text."""

    title: str
    subject: str
    html: str
    text: str
    holes: dict[str, str] = field(default_factory=dict)


class LetterError(ValueError):
    """A letter cannot be rendered. The message is one sentence: which template, what is wrong with it."""


class UnknownTemplate(LetterError):
    """There is no such template. The message names the ones there are."""
