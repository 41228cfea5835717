"""The base of all that is refused with a sentence for a person."""


class Refused(ValueError):
    """What was asked for is not done. The message says why and, where it helps, what to do instead.

    `field` is the form's or the request's field that it is about; empty where it is about no single one.
    Pages, commands and the API show it: nobody in between has to know the sort of refusal. `by_api` is the
    API's sentence where the message speaks of a page or a command.
    """

    def __init__(self, message: str = "", field: str = "", *, by_api: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.by_api = by_api or message
