from feedletter_site.models.arrival import (
    ApiToken,
    Arrival,
    ArrivalLine,
    ArrivalPiece,
    Counted,
    Figure,
    FirstStep,
    Member,
    Origin,
    Stage,
)

__all__ = [
    "ApiToken",
    "Arrival",
    "ArrivalLine",
    "ArrivalPiece",
    "Counted",
    "Figure",
    "FirstStep",
    "Member",
    "Origin",
    "Stage",
]
