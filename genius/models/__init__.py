"""The trained parts: encoder, fusion, quantizer, decoder; one per file."""
