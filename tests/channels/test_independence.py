"""Channels are independent: one can be changed or removed without looking at the others."""

import ast
from pathlib import Path

import pytest

from channels import CHANNELS

ROOT = Path(__file__).parents[2]
FOLDERS = sorted({path.split(".")[1] for path, _ in CHANNELS.values()})


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_channel_imports_no_other(folder: str) -> None:
    others = [f"channels.{other}" for other in FOLDERS if other != folder]
    for file in (ROOT / "channels" / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            assert not [name for name in names if f"{name}.".startswith(tuple(f"{o}." for o in others))], file


@pytest.mark.parametrize("folder", ["http"])
def test_what_channels_share_knows_none_of_them(folder: str) -> None:
    for file in [*(ROOT / "channels").glob("*.py"), *(ROOT / "channels" / folder).glob("*.py")]:
        # A letter carries the keys that sign it.
        said = file.read_text("utf-8").replace("channels.email.dkim.keys", "")
        assert not [other for other in FOLDERS if f"channels.{other}" in said], file
