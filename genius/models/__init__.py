"""The learned parts: encoder, fusion, quantizer, decoder. Each file is one of them."""
