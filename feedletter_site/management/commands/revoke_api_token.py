from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import find, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import revoke_tokens


class Command(FeedletterCommand):
    help = "Revokes an API token. It cannot be taken back."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The number that “list_api_tokens” shows.")

    def run(self, **options: Any) -> Result:
        token = find(
            ApiToken.objects.all(), "token", "“list_api_tokens” shows those there are.", pk=options["id"]
        )
        changed = bool(revoke_tokens(tokens=[token.pk], now=utcnow()))
        words = "opens nothing any more" if changed else "was revoked already"
        return Printed(f"The token “{token}” {words}.", {"id": token.pk, "revoked": True, "changed": changed})
