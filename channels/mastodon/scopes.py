"""OAuth scopes of Mastodon."""

# Posting, pictures, and the look-up after a lost answer.
OUR_SCOPES = ("write:statuses", "write:media", "read:statuses")
# Who the account is. From 4.3 on there is a scope for only that.
WHO, WHO_BEFORE = "profile", "read:accounts"
NEEDED = ({"write", "write:statuses"}, "post"), ({"read", "read:statuses"}, "read its own posts")
SCOPES = "read, write:statuses and, for pictures, write:media"
