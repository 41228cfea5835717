from feedletter_site.models.api_token import ApiToken
from feedletter_site.models.arrival import Arrival, ArrivalLine, ArrivalPiece
from feedletter_site.models.origin import Origin
from feedletter_site.models.overview import Figure, FirstStep
from feedletter_site.models.vitals import Counted, Stage

__all__ = [
    "ApiToken",
    "Arrival",
    "ArrivalLine",
    "ArrivalPiece",
    "Counted",
    "Figure",
    "FirstStep",
    "Origin",
    "Stage",
]
