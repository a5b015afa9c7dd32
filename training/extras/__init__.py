"""What options add to the encoder's training: factors, swapped instructions, synonyms (`encoder.extras`)."""
