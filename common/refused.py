"""The base of all that is refused with a sentence for a person."""


class Refused(ValueError):
    """What was asked for is not done. The message says why and, where it helps, what to do instead.

    `field` is the form's or the request's field that it is about; empty where it is about no single one.
    Pages, commands and the API show it: nobody in between has to know the sort of refusal.
    """

    def __init__(self, message: str = "", field: str = "") -> None:
        super().__init__(message)
        self.field = field
