"""What can be answered without the video: priors, the stress test, and pruning of what it finds.

All of it takes plain questions (`items.Item`), knows a question's text and options alone, and scores it from questions
of other scenes.
"""
