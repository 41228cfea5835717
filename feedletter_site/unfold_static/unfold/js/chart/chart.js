// Our charts are SVG: Unfold's library for others is left out.
