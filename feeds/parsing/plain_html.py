"""Plain text → html that looks the same."""

import html


def paragraphs(text: str) -> str:
    """Escaped, with a paragraph for every empty line and a break for every other line end; "" for ""."""
    if not text:
        return ""
    blocks = html.escape(text, quote=False).replace("\r\n", "\n").split("\n\n")
    return "".join(f"<p>{block.strip()}</p>".replace("\n", "<br>") for block in blocks)
