from typing import Any

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from feedletter_site.management.rows import token_row
from feedletter_site.models import ApiToken


class Command(FeedletterCommand):
    help = "Lists the API tokens, those that open nothing any more included. Never their keys."
    empty = "There are no tokens yet. Make one: create_api_token shop --scope subscribers:write"
    shared_options = (add_paging,)

    def run(self, **options: Any) -> Result:
        now = utcnow()
        rows = ApiToken.objects.select_related("made_by")
        return (token_row(row, now=now) for row in page(rows, options))
