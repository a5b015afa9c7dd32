"""What stages learn from.

pairs               queries and their positives, from the files of a collection
encoder_inputs      batches for the encoder: pictures are opened, texts are cut into tokens
image_augmentation  random views of a picture
class_pictures      pseudo-pictures of the classes that an image tower can name
pseudo_queries      queries for pictures that have none
requests            what people ask, for the reader
"""
