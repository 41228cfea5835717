from feedletter_site.models.arrival import Arrival, ArrivalLine, ArrivalPiece, Origin
from feedletter_site.models.member import Member
from feedletter_site.models.vitals import ApiToken, Counted, Figure, FirstStep, Stage

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
