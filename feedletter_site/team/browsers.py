"""Browsers in words."""

# More special names first: most browsers name others, too.
BROWSERS = (
    *(("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("FxiOS", "Firefox")),
    *(("CriOS", "Chrome"), ("Chrome", "Chrome"), ("Safari", "Safari")),
)
SYSTEMS = (
    *(("iPhone", "an iPhone"), ("iPad", "an iPad"), ("Android", "Android"), ("Windows", "Windows")),
    *(("Mac OS X", "a Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


def browser_words(user_agent: str) -> str:
    """Return words such as "Firefox on Windows" for a User-Agent header."""
    browser = next((words for name, words in BROWSERS if name in user_agent), "")
    system = next((words for name, words in SYSTEMS if name in user_agent), "")
    return " on ".join(filter(None, (browser or "Another browser", system)))
