"""Human review: what reviewers are shown, what they say of it, and what that comes to. It knows no web page."""
