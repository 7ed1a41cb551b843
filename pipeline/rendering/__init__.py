"""All that people look at: videos, galleries, the report, a release's picture, and pictures of reasons."""
