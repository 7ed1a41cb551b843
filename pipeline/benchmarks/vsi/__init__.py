"""VSI-Bench: spatial questions about indoor scans."""
