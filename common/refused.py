class Refused(ValueError):
    """The reason and, if it helps, a remedy, shown by pages, commands and the API.

    `field` is the field concerned, or "". `by_api` replaces it in the API if it mentions a page or command.
    """

    def __init__(self, message: str = "", field: str = "", *, by_api: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.by_api = by_api or message


class TranslatedRefusal(Refused):
    """In the reader's language, so that a page needs no other sentence."""
