SECOND_DATABASE = "nightly"
