"""Sample episodes: an arm of two links over a table, with planted truth."""
