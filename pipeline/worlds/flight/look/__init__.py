"""Appearances seen in a flight's video: a model describes them; pixels and map confirm or reject them."""
