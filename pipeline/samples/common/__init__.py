"""Tools to draw, film and encode the sample worlds."""
