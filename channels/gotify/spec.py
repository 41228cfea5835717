from channels import fields
from channels.bridge import BridgeSpec

PRIORITIES = {"": "Usual: with a sound", "2": "Low: no sound", "8": "High: with a sound, on top"}


class GotifySpec(BridgeSpec):
    """Pushes to all clients of the application's owner. Tokens have no name."""

    key = "gotify"
    label = "Gotify"
    sentence = "Push notifications to your phones and browsers through your Gotify server."
    asks_when_unsure = True
    core_is_chosen = True
    destination_fields = (
        fields.name("news"),
        fields.server("server_url", "Server", example="gotify.example"),
        fields.secret(
            "access_token", "Access token", "In Gotify, choose Apps, Create application, and show its token."
        ),
    )
    own_options = (fields.choice("priority", "Priority", "", PRIORITIES), fields.PICTURE)
