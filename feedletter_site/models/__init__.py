from feedletter_site.models.api_token import ApiToken

__all__ = ["ApiToken"]
