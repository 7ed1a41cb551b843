"""What is drawn of a question about a flight or an arm; those about drives are in `embodied4c.pictures`."""
