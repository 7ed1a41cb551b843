"""Attacks without the video: priors, the stress test, model panels, and the removal of guessable questions.

All of it takes plain questions (`items.BlindItem`), knows a question's text and options alone, and scores it from
questions of other scenes.
"""
