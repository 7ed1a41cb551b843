"""Small procedural scenes in the raw formats, for demonstrations and tests."""
