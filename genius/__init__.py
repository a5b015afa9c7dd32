"""GENIUS: universal multimodal search by generating the ID of what is sought."""
