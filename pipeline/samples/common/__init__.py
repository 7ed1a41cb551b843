"""What the sample worlds are drawn, filmed and packed with."""
