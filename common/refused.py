class Refused(ValueError):
    """A refusal, shown by pages, commands and the API: the reason and, if it helps, a remedy.

    `field` is the field concerned, or "". `by_api` is for the API if the message mentions a page or
    command.
    """

    def __init__(self, message: str = "", field: str = "", *, by_api: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.by_api = by_api or message
