"""What stands in the sample rooms."""
