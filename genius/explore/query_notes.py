"""What a visitor should know about a query: words that are not read, or not as they are meant."""

import re
import unicodedata
from collections.abc import Sequence

import torch

from genius.models.absent import NoEncoder
from genius.models.encoder import Encoder
from genius.schema import READINGS, Modality, Query, Reading
from genius.search.engine import Engine
from genius.texts import normalize_text

ENGLISH = "This model reads English."
# Function words of Spanish, French, Portuguese, German, Italian, Dutch, Indonesian, Vietnamese,
# Turkish and Polish. One of these tells that a text is not English:
CLEAR = """
    un una unos unas está están qué cómo dónde cuál también desde hasta hacia muy pero
    une avec dans cette très où leur sont quel quelle
    um uma umas com não muito você sua numa
    ein eine einer einem einen eines kein keine keiner keinem keinen und oder mit ohne auf für vom
    zum zur bei aus nach der dem das hinter neben zwischen ist sind nicht auch wie ich ihr zwei sich
    durch gegen beim
    degli delle dello nel nella nei negli nelle sul sui senza sono è più molto questo questa anche
    het een zonder voor naar uit naast tussen niet geen zijn ook waar deze
    dari untuk dengan tanpa itu tidak bukan adalah sebuah seekor seorang dalam oleh sedang
    một và của không có với trên trong những các là này cái đang dưới
    bir için üzerinde altında değil şu yok gibi olan olmayan çok
    nie jest są się przez oraz lub który która które bardzo dwa dwie obok bez
"""
# Two of these, which are also names, or words of English:
VAGUE = """
    el la los las con sin del en y de por para que es sobre entre su sus como donde cuando
    le les des du et sans sur sous pour est qui pas au aux ce ses elle chez deux
    os sem da dos das na nas em ao pelo pela seu onde são
    die den von unter vor nur über il lo gli di della che alla dal dalla op onder dit aan twee
    yang dan ke pada ini ada atas dua cho hai ve ile bu var ama iki w z od ze przy nad dla
"""
FOREIGN, FOREIGN_IF_TWO = frozenset(CLEAR.split()), frozenset(VAGUE.split())
FOREIGN_LETTER = re.compile("[ąćęłńśźżğışßđơưăḀ-ỿ]")
NEGATION = re.compile(r"\b(not|without|except)\b|n['’]t\b", re.I)
REFERENCE = re.compile(  # to a picture that is not there
    r"\b(similar|same|such|more) "
    r"(pictures?|photo(graph)?s?|images?|things?|items?)\b|\b(this|these)\W*$",
    re.I,
)
KINDS = {Modality.IMAGE: "pictures", Modality.TEXT: "texts", Modality.PAIR: "pictures with texts"}
SHORT = 8  # words that any encoder reads


def query_notes(
    engine: Engine,
    query: Query,
    match: str,
    holds: str = "",
    english: bool = True,
    reading: Reading | None = None,
) -> list[str]:
    """Sentences about a query. match: the word for its results. holds: what the collection holds.
    english: whether the run reads English alone. reading: of the query's words.
    """
    text = query.text.strip() if normalize_text(query.text) else ""
    notes = []
    if reading and (wanted := READINGS[reading.understood]) not in engine.snapshots.current.kinds:
        notes.append(f"You seem to ask for {KINDS[wanted]}, which this collection does not have.")
    if text and not any(map(str.isalnum, text)):
        notes.append("There are no words in it to search for; say what you are looking for.")
    if match == "weak":
        # in one line
        notes.append(
            f"Perhaps nothing here fits well. {re.sub(r' *[(][^)]*[)]', '', holds)}".strip()
        )
    if text and english and not is_english(text):
        notes.append(ENGLISH)
    instructions = [instruction for *_, instruction in engine.index.instructions]
    if text and query.image is None and is_instruction(text, instructions):
        notes.append(
            "That reads like a question about a picture: add one, or describe what you "
            "are looking for."
        )
    if reading is None and (found := NEGATION.search(text)):
        notes.append(f"Words like “{found[0]}” are not understood; describe what you want instead.")
    long = engine.has_encoder and len(text.split()) > SHORT
    if long and (words := engine.batcher.call(lambda: words_read(engine.encoder, query))):
        notes.append(
            f"Only the first {words} words are read: from “{text.split()[words]}” on, "
            "nothing counts."
        )
    return notes


def is_english(text: str) -> bool:
    """Whether most letters are Latin, and no small word gives another language away; a noun alone,
    like Hund or gato, does not. Words with a capital are names, but for the first."""
    letters = [
        character
        for character in text
        if character.isalpha() or unicodedata.category(character) == "So"
    ]
    latin = [letter for letter in letters if "LATIN" in unicodedata.name(letter, "")]
    if letters and 2 * len(latin) <= len(letters):
        return False
    words = text.strip().replace("’", " ").replace("'", " ").split() or [""]
    if any(FOREIGN_LETTER.search(word) for word in words if word.islower()):
        return False
    words[0] = words[0] if words[0].isupper() else words[0].lower()
    small = {word.strip('.,;:!?¿¡()“”«»…"') for word in words if word.islower()}
    return not small & FOREIGN and len(small & FOREIGN_IF_TWO) < 2


def is_instruction(text: str, instructions: Sequence[str]) -> bool:
    """Whether words without a picture speak of one: "find me similar pictures", or one of the run's
    instructions.
    """
    return bool(REFERENCE.search(text)) or _plain(text) in set(map(_plain, instructions))


def words_read(encoder: Encoder | NoEncoder, query: Query) -> int | None:
    """How many words of a text the encoder reads; None: all."""
    words = query.text.split()
    low = 1
    high = len(words)
    while low < high:  # the fewest words whose tokens are those of the whole text
        middle = (low + high) // 2
        texts = [
            encoder.wording(query.instruction, " ".join(part))[0]
            for part in (words[:middle], words)
        ]
        part, whole = encoder.tokenize(texts)
        low, high = (low, middle) if torch.equal(part, whole) else (middle + 1, high)
    return low if low < len(words) else None


def _plain(text: str) -> str:
    return text.strip().rstrip(".?!").casefold()
