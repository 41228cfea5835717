"""docs/operating/settings.md names exactly the existing settings."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_every_setting_is_documented_and_no_other() -> None:
    settings = (ROOT / "feedletter_site" / "settings.py").read_text(encoding="utf-8")
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', settings))
    table = (ROOT / "docs" / "operating" / "settings.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([A-Z_]+)`", table, re.M)) == read
