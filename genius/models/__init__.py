"""The trained parts, one per file: encoder, fusion, quantizer, decoder, reader; and what an encoder
is made of.
"""
