"""Scoring of replies to a benchmark: result files joined with the questions, figures with their intervals."""
