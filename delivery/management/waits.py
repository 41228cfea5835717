"""What commands say of letters that wait."""

from collections.abc import Sequence

from common.admin.html import when
from common.cli.commands import FeedletterCommand
from common.text import pluralize
from delivery.engine.waits import Wait

WAITS_SHOWN = 10


def tell_waits(command: FeedletterCommand, waits: Sequence[Wait]) -> None:
    """Adds a remark for each of them beside the result."""
    for wait in waits[:WAITS_SHOWN]:
        again = f" It is tried again at {when(wait.until)}." if wait.until else ""
        command.note(
            f"Waiting in the lane {wait.lane}, {pluralize(wait.letters, 'letter')}: {wait.why}{again}"
        )
    if len(waits) > WAITS_SHOWN:
        command.note(f"and {pluralize(len(waits) - WAITS_SHOWN, 'more reason')}.")
