"""Each module registers its pages."""

from chat.admin import guild
