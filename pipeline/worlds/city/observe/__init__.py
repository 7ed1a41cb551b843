"""What can be observed in a city: free space, sight, shortest paths."""
