"""Questions that a language model words, held against what was observed."""
