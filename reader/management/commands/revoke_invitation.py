from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import find, whole
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from reader.management.rows import invitation_row
from reader.models import Invitation
from reader.people.invitations import revoke_invitations


class Command(FeedletterCommand):
    help = "Takes an invitation back: its link lets nobody in any more."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="Its number, as list_invitations shows it.")

    def run(self, **options: Any) -> Result:
        hint = "“list_invitations” shows those there are."
        invitation = find(Invitation.objects.all(), "invitation", hint, pk=options["id"])
        if not revoke_invitations(invitations=[invitation.pk], now=utcnow()):
            raise CommandError(f"The invitation for {invitation} was used or taken back already.")
        invitation.refresh_from_db()
        return invitation_row(invitation)
