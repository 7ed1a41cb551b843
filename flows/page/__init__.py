"""The review page: a small web application, of which every answer is kept before the truth is shown."""
