"""Forms of dates that we write in another way than Django does (FORMAT_MODULE_PATH): months in full."""
