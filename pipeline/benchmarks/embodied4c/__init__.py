"""Embodied4C: one exam over driving, flying and manipulating."""
