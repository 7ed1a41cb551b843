"""The tasks of Embodied4C: one for each sub-capability and form of answer, over all embodiments."""
