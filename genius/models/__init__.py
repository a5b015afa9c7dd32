"""The trained parts, one per file: encoder, fusion, quantizer, decoder, ranker; and what an encoder is made of."""
