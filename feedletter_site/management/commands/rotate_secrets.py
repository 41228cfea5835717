from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from feedletter_site.services.secret_rotation import rotate_secrets

# Rows named in the message.
NAMED = 5


class Command(FeedletterCommand):
    help = "Encrypts every stored secret with SECRET_KEY, so that SECRET_KEY_FALLBACKS can be removed."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Only count; change nothing.")

    def run(self, **options: Any) -> Result:
        is_trial = options["dry_run"]
        done = rotate_secrets(change=not is_trial)
        words = "would be encrypted anew" if is_trial else "encrypted anew"
        sentence = f"{done.rotated} {words}, {done.current} had the newest key already."
        if done.unreadable:
            named = ", ".join(done.unreadable[:NAMED]) + (" …" if len(done.unreadable) > NAMED else "")
            sentence += (
                f" {len(done.unreadable)} cannot be read by any key ({named}): add the key that they were"
                " made with to SECRET_KEY_FALLBACKS, or enter them anew."
            )
        facts = {"rotated": done.rotated, "current": done.current, "unreadable": done.unreadable}
        return Printed(sentence, {**facts, "dry_run": is_trial})
