"""What is drawn of a question about a flight: the stretch asked about, landmarks, heights, and the video's pictures."""
