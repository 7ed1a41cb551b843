"""The tasks of ERGeoBench."""
