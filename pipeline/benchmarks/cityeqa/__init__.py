"""CityEQA: embodied questions in a city."""
