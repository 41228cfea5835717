"""`feedletter mcp` as a program runs it: JSON lines on standard input and output."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from common.api.permissions import ASSISTANT
from tests.databases import migrated_file
from tests.e2e.processes import ROOT, clean_environment, manage

pytestmark = pytest.mark.slow


def test_an_assistant_lists_tools_and_calls_one_until_its_token_is_revoked(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    shutil.copy(migrated_file(), tmp_path / "feedletter.db")
    environment = {"DATA_DIR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path}/feedletter.db"}
    scopes = ("--scope", ASSISTANT, "--scope", "feeds:read")
    token = manage("create_api_token", "laptop", *scopes, environment=environment)
    process = subprocess.Popen(
        [sys.executable, "manage.py", "mcp", token["prefix"]],
        cwd=ROOT,
        env=clean_environment(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def say(**message: Any) -> Any:
        print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)
        return json.loads(process.stdout.readline()) if "id" in message else None  # type: ignore[union-attr]

    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    assert say(id=1, method="initialize", params=about)["result"]["serverInfo"]["name"] == "feedletter"
    say(method="notifications/initialized")
    tools = say(id=2, method="tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["list_feeds", "show_feed", "list_items", "show_item"]
    call = {"method": "tools/call", "params": {"name": "list_feeds", "arguments": {}}}
    assert say(id=3, **call)["result"]["content"][0]["text"] == '{"rows": []}'
    manage("revoke_api_token", str(token["id"]), environment=environment)
    refused = say(id=4, **call)["result"]
    assert refused["isError"] is True
    assert refused["content"][0]["text"] == "This token was revoked."
    process.stdin.close()
    assert process.wait(20) == 0
