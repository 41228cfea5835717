"""%Fields% that editors type: tokens, then placeholders in letters, or values in the archive. Pure.

The archive has no reader, so a reader's fields are dropped, with the space before them.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from html import escape

from channels.placeholders import FIELD, Placeholders
from delivery.rendering.errors import Rendered


class TypedFields:
    def __init__(self, params: Mapping[str, str]) -> None:
        self._params = params
        self._placeholders = Placeholders(params)

    def in_markdown(self, text: str) -> str:
        r"""Replace fields by tokens. Markdown turns `\%x%` into `%x%`. Raises UnknownField."""
        return FIELD.sub(lambda match: match[0] if match[1] else self._placeholders.token(match[2]), text)

    def in_subject(self, text: str) -> str:
        r"""Replace fields outside Markdown, and `\%x%` by `%x%`. Raises UnknownField."""
        return FIELD.sub(lambda match: match[0][1:] if match[1] else self._placeholders.token(match[2]), text)

    def as_links(self, html: str, *, base: str) -> str:
        """Restore links to fields, such as `[leave](%removeLink%)`, that were made absolute."""
        for token in self._placeholders.used.values():
            html = html.replace(f'"{base}{token}"', f'"{token}"')
        return html

    def as_placeholders(self, letter: Rendered) -> Rendered:
        """Turn tokens into placeholders, reusing the ones of its template."""
        for name, token in self._placeholders.used.items():
            at_cut = "|".join(re.escape(token[:end]) + "…" for end in range(len(token) - 1, 1, -1))
            hole = letter.placeholders.get(name, token)

            def written(text: str, token: str = token, hole: str = hole, at_cut: str = at_cut) -> str:
                # Excerpts may be cut within a token.
                return re.sub(at_cut, "…", text).replace(token, hole)

            letter = replace(
                letter,
                subject=written(letter.subject),
                html=written(letter.html),
                text=written(letter.text),
                placeholders={**letter.placeholders, name: hole},
            )
        return letter

    def for_nobody(self, text: str, shared: Mapping[str, str], *, is_html: bool) -> str:
        """Fill in the archive's values; `shared`, by lower-case name, apply to all readers."""
        values = {name.lower(): value for name, value in self._params.items()}
        values |= {name: value for name, value in shared.items() if value.strip()}
        for name, token in self._placeholders.used.items():
            value = values.get(name, "")
            if value:
                text = text.replace(token, escape(value) if is_html else value)
                continue
            text = re.sub(rf'<a href="{token}"[^>]*>(.*?)</a>', r"\1", text, flags=re.DOTALL)
            text = re.sub(rf"(^|>)\s*{token}[,;:]?\s*", r"\1", text)
            text = re.sub(rf"[,;:]?[ \t\u00a0]*{token}(?=\s*(?:$|<))", "", text)
            text = re.sub(rf"[ \t\u00a0]*{token}", "", text)
        return text
