"""Scorers and reply parsers, one per file.

`released` scores as the public benchmark's script does; `letters` and `numbers` find the answer in a reply or say why
there is none; `mra` grades numbers.
"""
