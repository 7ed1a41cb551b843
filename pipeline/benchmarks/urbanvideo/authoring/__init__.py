"""Questions that a model writes, checked against the observed facts."""
