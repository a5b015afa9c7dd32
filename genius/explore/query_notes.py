"""What a visitor should know about a query: words that are not read, or not as they are meant."""

import re
import unicodedata
from collections.abc import Sequence

import torch

from genius.models.encoder import Encoder
from genius.schema import READINGS, Modality, Query, Reading
from genius.search.engine import Engine

ENGLISH = "This model reads English."
OTHER_LANGUAGE = re.compile(  # words of German, French and Spanish sentences that English ones and names do not have
    r"\b(eine?[mnrs]?|und|mit|nicht|auf|für|von|ist|der|dem|das|une|avec|dans|est|sur|pour|unos|unas)\b", re.I
)
NEGATION = re.compile(r"\b(not|without|except)\b|n['’]t\b", re.I)
REFERENCE = re.compile(  # to a picture that is not there
    r"\b(similar|same|such|more) (pictures?|photo(graph)?s?|images?|things?|items?)\b|\b(this|these)\W*$", re.I
)
KINDS = {Modality.IMAGE: "pictures", Modality.TEXT: "texts", Modality.PAIR: "pictures with texts"}
SHORT = 8  # words that any encoder reads


def query_notes(
    engine: Engine, query: Query, match: str, holds: str = "", english: bool = True, reading: Reading | None = None
) -> list[str]:
    """Sentences about a query. match: the word for its results. holds: what the collection holds. english: whether the
    run reads English alone. reading: of the query's words.
    """
    text, notes = query.text.strip(), []
    if reading and (wanted := READINGS[reading.understood]) not in engine.versions.current.kinds:
        notes.append(f"You seem to ask for {KINDS[wanted]}, which this collection does not have.")
    if text and not any(map(str.isalnum, text)):
        notes.append("There are no words in it to search for; say what you are looking for.")
    if match == "weak":
        notes.append(f"Perhaps nothing here fits well. {re.sub(r' *[(][^)]*[)]', '', holds)}".strip())  # in one line
    if text and english and not is_english(text):
        notes.append(ENGLISH)
    instructions = [instruction for *_, instruction in engine.index.instructions]
    if text and query.image is None and is_instruction(text, instructions):
        notes.append("That reads like a question about a picture: add one, or describe what you are looking for.")
    if reading is None and (found := NEGATION.search(text)):
        notes.append(f"Words like “{found[0]}” are not understood; describe what you want instead.")
    long = engine.has_encoder and len(text.split()) > SHORT
    if long and (words := engine.batcher.call(lambda: words_read(engine.encoder, query))):
        notes.append(f"Only the first {words} words are read: from “{text.split()[words]}” on, nothing counts.")
    return notes


def is_english(text: str) -> bool:
    """Whether most letters are Latin, and no word gives another language away: a word alone, like Tulpe, does not."""
    letters = [character for character in text if character.isalpha() or unicodedata.category(character) == "So"]
    latin = [letter for letter in letters if "LATIN" in unicodedata.name(letter, "")]
    return bool(2 * len(latin) > len(letters) or not letters) and not OTHER_LANGUAGE.search(text)


def is_instruction(text: str, instructions: Sequence[str]) -> bool:
    """Whether words without a picture speak of one: "find me similar pictures", or one of the run's instructions."""
    return bool(REFERENCE.search(text)) or _plain(text) in set(map(_plain, instructions))


def words_read(encoder: Encoder, query: Query) -> int | None:
    """How many words of a text the encoder reads; None: all."""
    words, low = query.text.split(), 1
    high = len(words)
    while low < high:  # the fewest words whose tokens are those of the whole text
        middle = (low + high) // 2
        texts = [encoder.wording(query.instruction, " ".join(part))[0] for part in (words[:middle], words)]
        part, whole = encoder.tokenize(texts)
        low, high = (low, middle) if torch.equal(part, whole) else (middle + 1, high)
    return low if low < len(words) else None


def _plain(text: str) -> str:
    return text.strip().rstrip(".?!").casefold()
