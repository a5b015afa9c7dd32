"""Decode texts that are not UTF-8: UTF-16, and the code pages in which programs still write tables
and captions.
"""

import codecs
import re
from pathlib import Path

from genius.collections.lines import LineError

UTF16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
WESTERN = ["äöüßàâæçéèêëîïôœùûÿ", "ñáéíóúüãõâêôçàºª¿¡", "åäöæøéàèìíòóùú"]
# code page -> letters besides a to z, of each language or of some that share most; the likely ones
# first
LATIN = {
    "cp1252": WESTERN,
    "mac_roman": WESTERN,
    "cp1250": ["ąćęłńóśźż", "áčďéěíňóřšťúůýžäĺľŕô", "áéíóöőúüű", "čćđšžăâîşţ"],
    "cp1254": ["çğıöşüâîû"],
    "cp850": WESTERN,
}
# code page -> letters of another script, and which of them are vowels, where those are written
OTHERS = {
    "cp1251": ("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґў", "аеиоуыэюяёіїє"),
    "cp1253": ("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋ", "αεηιουωάέήίόύώϊϋ"),
    "cp1255": ("אבגדהוזחטיךכלםמןנסעףפץצקרשת", ""),
    "cp1256": ("ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچگژ", ""),
}
COMMON = {  # code page -> the first bytes of its syllables and common characters
    "gb18030": [*range(0xB0, 0xD8)],
    "cp932": [0x82, 0x83, *range(0x88, 0x98)],
    "big5": [*range(0xA4, 0xC7)],
    "cp949": [*range(0xB0, 0xC9)],
}
STRANGE_WORD = re.compile(r"(?:[^\W\d_]|[^\x00-\x7f‘’“”„–—…•€«»°©®™\xa0])+")
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


def decoded(data: bytes, file: Path) -> tuple[str, str]:
    """The text, and the name of its code page if it is in one. Raises LineError if it is no text in
    a known one.
    """
    wide = (
        UTF16.get(data[:2])
        or {b"\0": "utf-16-be"}.get(data[:1])
        or {b"\0": "utf-16-le"}.get(data[1:2])
    )
    try:
        return data.decode(wide or "utf-8-sig"), ""
    except UnicodeDecodeError as error:
        if wide:
            raise LineError(file, 0, "the file is not whole UTF-16; save it as UTF-8") from None
        if page := code_page(data):
            return data.decode(page), page
        line = data.count(b"\n", 0, error.start) + 1
        raise LineError(file, line, "the line is not UTF-8; save the file as UTF-8") from None


def code_page_note(what: str, page: str) -> str:
    return f"{what}: not UTF-8, read as {page}; if letters are wrong, save as UTF-8"


def code_page(data: bytes) -> str | None:
    """The code page in which most words look like words, of equal ones the likeliest; None if it is
    no text in any.
    """
    scores: dict[str, float] = {}
    for page in (*LATIN, *OTHERS, *COMMON):
        try:
            text = data.decode(page)
        except UnicodeDecodeError:
            continue
        if not CONTROL.search(text):
            words = [word for word in STRANGE_WORD.findall(text) if not word.isascii()]
            scores[page] = sum(_looks_right(word, page) for word in words) / max(1, len(words))
            # most characters are Chinese, too, but Chinese has no spaces between words
            if page == "cp949":
                scores[page] += 0.01 if re.search(r"[^\x00-\x7f] [^\x00-\x7f]", text) else -0.1
    return max(scores, key=scores.__getitem__, default=None)


def _looks_right(word: str, page: str) -> float:
    """How much a word with letters beyond ASCII looks like one of a language of this code page, 0
    to 1.
    """
    strange = [sign.lower() for sign in word if not sign.isascii()]
    if page in COMMON:
        return sum(sign.encode(page)[0] in COMMON[page] for sign in strange) / len(strange)
    if word[1:] != word[1:].lower() and word != word.upper():  # a capital within a word
        return 0
    if page in LATIN:
        is_word = any(sign.isascii() for sign in word) or word.lower() in "àèéóòå"
        return is_word and any(set(strange) <= set(letters) for letters in LATIN[page])
    letters, vowels = OTHERS[page]
    sounds = sum(sign in vowels for sign in strange) / len(strange)
    return set(word.lower()) <= set(letters) and (
        not vowels or len(word) < 3 or 0.2 <= sounds <= 0.8
    )
