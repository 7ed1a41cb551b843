"""What is drawn of a question about a scan: where its numbers were measured, and what the video shows of it."""
