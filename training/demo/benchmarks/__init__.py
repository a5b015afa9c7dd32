"""Long measurements. Each module is a command, whose docstring says what it measures; caption_words
judges what it finds.
"""
