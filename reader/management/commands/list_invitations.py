from typing import Any

from common.cli.commands import FeedletterCommand, Result
from reader.management.rows import invitation_row
from reader.models import Invitation


class Command(FeedletterCommand):
    help = "Lists the invitations to read here."
    empty = "Nobody was invited so far. Invite somebody: add_reader NAME --invite"

    def run(self, **options: Any) -> Result:
        return map(invitation_row, Invitation.objects.select_related("reader").order_by("pk").iterator())
