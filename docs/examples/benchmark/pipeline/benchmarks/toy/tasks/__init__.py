"""The tasks of the toy benchmark."""
