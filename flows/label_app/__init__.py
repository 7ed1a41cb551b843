"""The page to label a scene folder: boxes drawn on its floor plan, named, and written into ``scene.json``."""
