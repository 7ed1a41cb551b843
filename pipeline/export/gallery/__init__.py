"""A release to look at, question by question: one page, or a gallery of all."""
