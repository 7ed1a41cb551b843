"""An episode of an arm as its questions see it."""
