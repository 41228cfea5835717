"""How the site and its newsletters look to readers, and the pictures that they wear."""
