"""The web application in which people review questions."""
