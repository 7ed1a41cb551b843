"""What replies to a benchmark earn: result files read and joined with the questions, figures with their intervals."""
