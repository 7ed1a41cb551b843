"""The world of cities, which an agent explores to answer a question."""
