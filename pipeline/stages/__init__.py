"""The stages of a build, one a file, and the list of them."""
