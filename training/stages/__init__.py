"""The steps from a collection to a run; each publishes one part of it.

encoder, locked             the whole encoder; or heads behind locked towers (tower_features)
features                    what the encoder says of each query and target, once
quantizer                   fusion and codebooks
decoder                     IDs from queries
index, block_index          IDs of all candidates; or shard by shard, for what does not fit
reader                      how the words of a request are read
maps, map_regions, names    what the page shows of codes
optimization, curves        learning rates, averages and stopping; what the page shows of them
"""
