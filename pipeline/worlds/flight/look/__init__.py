"""What things look like by the pictures of a flight's video: a model says it, pixels and map must bear it out."""
