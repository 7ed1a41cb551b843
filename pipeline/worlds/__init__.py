"""Kinds of evidence: how each is read, what facts it has, what can be observed in it."""
