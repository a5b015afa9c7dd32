"""From images and texts to features, and from features to codes, shard by shard."""
