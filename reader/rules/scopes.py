"""What a token may do: the words of Microsub's scopes. Pure."""

READ, FOLLOW, CHANNELS, MUTE, BLOCK = "read", "follow", "channels", "mute", "block"

SCOPES = (READ, FOLLOW, CHANNELS, MUTE, BLOCK)
