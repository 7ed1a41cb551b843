"""The six categories of CityEQA."""
