"""Observation of a panorama: the fitness of its picture, its place, the visibility of its objects."""
