import tomllib
from pathlib import Path

from django.conf import settings


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text())["project"]
    assert project["version"] == settings.VERSION
