from chat.admin import guild  # noqa: F401 - registers its pages
