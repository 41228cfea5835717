"""Shows html as it looks by day or by night, whatever the screen it is shown on prefers. Pure."""

import re

# In html, in `<style>` and in media attributes. A width takes its place that matches always, or never.
_PREFERS = re.compile(r"prefers-color-scheme\s*:\s*(dark|light)", re.IGNORECASE)
_SCHEMES = re.compile(r"(color-scheme\s*:\s*|name=\"color-scheme\" content=\")light dark", re.IGNORECASE)
_ALWAYS, _NEVER = "min-width: 0px", "max-width: 0px"


def by_day(html: str) -> str:
    return _shown(html, "light")


def by_night(html: str) -> str:
    return _shown(html, "dark")


def _shown(html: str, scheme: str) -> str:
    html = _PREFERS.sub(lambda match: _ALWAYS if match[1].lower() == scheme else _NEVER, html)
    return _SCHEMES.sub(lambda match: f"{match[1]}{scheme}", html)
