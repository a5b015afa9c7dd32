"""What people have becomes a run by one command.

folder      folders, tables and archives of pictures, by the models of the photo run or others
following   what changes in these folders later is so in the run, too
own_models  trains models of one's own on what a folder holds, and keeps the better ones
vectors     embeddings that somebody has: no encoder is needed
ids         IDs that somebody made elsewhere
"""
