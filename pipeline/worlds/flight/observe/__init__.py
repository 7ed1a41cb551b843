"""What a flight does and sees."""
