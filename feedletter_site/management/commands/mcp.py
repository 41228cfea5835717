import asyncio
from importlib.util import find_spec
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import close_old_connections

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.refused import Refused
from feedletter_site.assistants import INSTRUCTIONS, call, tools_for
from feedletter_site.services.tokens import token_for_assistants

NOT_INSTALLED = "This needs the package mcp: pip install 'feedletter[mcp]', or pip install 'mcp~=2.3'."


class Command(FeedletterCommand):
    help = "Serve AI assistants on this machine: MCP on standard input and output, until it is closed."

    def add_options(self, parser: CommandParser) -> None:
        help_ = "The beginning of a token with the scope assistant, as list_api_tokens shows it."
        parser.add_argument("prefix", help=help_)

    def run(self, **options: Any) -> Result:
        token_for_assistants(options["prefix"], now=utcnow())
        if find_spec("mcp") is None:
            raise Refused(NOT_INSTALLED)
        asyncio.run(serve(options["prefix"]))
        return None


async def serve(prefix: str) -> None:
    """The token is looked up for each call: it may expire or be revoked meanwhile."""
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    @sync_to_async
    def listed() -> list[Any]:
        close_old_connections()
        return [tool.described() for tool in tools_for(token_for_assistants(prefix, now=utcnow())).values()]

    @sync_to_async
    def called(name: str, given: Any) -> tuple[str, bool]:
        close_old_connections()
        try:
            return call(token_for_assistants(prefix, now=utcnow()), name, given)
        except Refused as error:
            return str(error), True

    async def on_list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(row) for row in await listed()])

    async def on_call_tool(context: Any, params: Any) -> types.CallToolResult:
        text, is_error = await called(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    server: Any = Server(
        "feedletter",
        version=settings.VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
