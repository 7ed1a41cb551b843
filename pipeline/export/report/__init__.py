"""The page `report.html`: a release told to someone who did not build it."""
