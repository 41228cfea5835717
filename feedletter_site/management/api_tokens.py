from datetime import timedelta
from typing import Any

from common.api.permissions import SCOPES
from common.cli.arguments import add_paging, argument, find, page, positive, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from feedletter_site.management.rows import token_row
from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import make_token, revoke_tokens


class ListApiTokens(FeedletterCommand):
    help = "Lists the API tokens, also revoked and expired ones. Never their keys."
    empty = "There are no tokens yet. Make one: create_api_token shop --scope subscribers:write"
    arguments = (add_paging,)

    def run(self, **options: Any) -> Result:
        now = utcnow()
        rows = ApiToken.objects.select_related("made_by")
        return (token_row(row, now=now) for row in page(rows, options))


class CreateApiToken(FeedletterCommand):
    help = "Makes an API token. Its key is printed this once and kept nowhere."
    option_names = {"name": "NAME", "scopes": "--scope"}  # noqa: RUF012
    arguments = (
        argument("name", metavar="NAME", help="The program that uses it, such as shop."),
        argument(
            "--scope",
            action="append",
            choices=tuple(SCOPES),
            default=[],
            help="A scope; may be given several times. Writing includes reading.",
        ),
        argument("--all-scopes", action="store_true", help="It may do everything."),
        argument("--days", type=positive, metavar="N", help="Left out, it is good until revoked."),
    )

    def run(self, **options: Any) -> Result:
        now = utcnow()
        token, key = make_token(
            name=options["name"],
            scopes=SCOPES if options["all_scopes"] else options["scope"],
            now=now,
            expires_at=now + timedelta(days=options["days"]) if options["days"] else None,
        )
        return {**token_row(token, now=now), "key": key}


class RevokeApiToken(FeedletterCommand):
    help = "Revokes an API token. It cannot be taken back."
    arguments = (argument("id", type=whole, metavar="ID", help="The number that “list_api_tokens” shows."),)

    def run(self, **options: Any) -> Result:
        token = find(
            ApiToken.objects.all(), "token", "“list_api_tokens” shows those there are.", pk=options["id"]
        )
        changed = bool(revoke_tokens(tokens=[token.pk], now=utcnow()))
        words = "opens nothing any more" if changed else "was revoked already"
        return Printed(f"The token “{token}” {words}.", {"id": token.pk, "revoked": True, "changed": changed})
