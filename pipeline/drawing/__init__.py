"""Drawings of questions as SVG: maps, sections, charts and pictures of videos on one sheet, and their PNG."""
