"""Tests of what pictures tell of looks."""
