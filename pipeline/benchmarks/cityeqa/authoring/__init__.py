"""World Knowledge that a model writes, and what is checked of it."""
