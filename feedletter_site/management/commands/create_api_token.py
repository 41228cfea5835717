from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from common.api.permissions import SCOPES
from common.cli.arguments import positive
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from feedletter_site.management.rows import token_row
from feedletter_site.services.tokens import make_token


class Command(FeedletterCommand):
    help = "Makes an API token. Its key is printed this once and kept nowhere."
    option_names = {"name": "NAME", "scopes": "--scope"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="What uses it, such as shop.")
        parser.add_argument(
            "--scope",
            action="append",
            choices=tuple(SCOPES),
            default=[],
            help="What it may do; may be given several times. Who may write may read.",
        )
        parser.add_argument("--all-scopes", action="store_true", help="It may do everything.")
        parser.add_argument("--days", type=positive, metavar="N", help="Left out, it is good until revoked.")

    def run(self, **options: Any) -> Result:
        now = utcnow()
        token, key = make_token(
            name=options["name"],
            scopes=SCOPES if options["all_scopes"] else options["scope"],
            now=now,
            expires_at=now + timedelta(days=options["days"]) if options["days"] else None,
        )
        return {**token_row(token, now=now), "key": key}
