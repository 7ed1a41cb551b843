"""The tasks of VSI-Bench, one per file."""
