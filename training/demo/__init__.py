"""How the shipped runs are made, and what is measured on them.

photos              the photo run: its collection from public sets, its run, its credits
toy_world, toy_run  the world of coloured shapes, and its run
shipping            a trained run becomes a folder of assets
benchmarks          uploads, requests in people's own words, and what the decoder is worth
"""
