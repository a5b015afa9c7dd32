"""The form in which encoders read texts, how long a text may be, and a hash of texts."""

import zlib

MAX_TEXT = 10_000  # characters that are tokenized; encoders read far fewer
MAX_WORD = 1_000  # characters: CLIP's merges take quadratic time in a word


def normalize_text(text: str) -> str:
    """The published form of a text: stripped of spaces and quotes, capitalized, with an end mark.

    Empty stays empty; so is what nobody sees, such as a zero-width space.
    """
    text = text.replace("\r", "").strip().strip('"')
    if not any(character.isprintable() and character != " " for character in text):
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".?!" else text + "."


def shorten_text(text: str) -> str:
    """Cut a text, and its words, far behind the last token that an encoder reads; others stay as
    they are.
    """
    if len(text) <= MAX_WORD:
        return text
    words = text.split()
    if len(text) <= MAX_TEXT and all(len(word) <= MAX_WORD for word in words):
        return text
    return " ".join(word[:MAX_WORD] for word in words)[:MAX_TEXT]


def query_text(instruction: str, text: str) -> str:
    """The text of a query for the encoder: the instruction as a sentence of its own, then the
    query's own text.

    As in the published code: "find it" and "a red car" become "Find it. a red car."
    """
    return normalize_text(f"{normalize_text(instruction)} {text}")


def stable_hash(text: str) -> int:
    """The same on every machine and in every run, unlike `hash`."""
    return zlib.crc32(text.encode())
