"""Instructions, attribute sentences and questions for the collections that are built from folders."""

from __future__ import annotations

import re
from collections.abc import Iterable

WHAT_IS_THIS = (
    "What is this product?",
    "Which product is shown here?",
    "Can you tell what product this is?",
    "What am I looking at?",
    "What kind of product is in the photo?",
    "What is in this picture?",
)

INSTRUCTIONS: dict[tuple[str, int], tuple[str, ...]] = {  # (rule, task) -> templates; {a} becomes "a NAME"
    ("captions", 0): (
        "Find {a} image that shows what is described.",
        "Which picture from {name} fits this caption?",
        "Show me {a} photo of the described scene.",
        "Retrieve the image from {name} that this sentence is about.",
        "I am looking for {a} picture that matches these words.",
    ),
    ("captions", 3): (
        "Find {a} caption that describes this image.",
        "Which sentence from {name} says what this picture shows?",
        "Give me {a} text that fits the photo.",
        "Retrieve the caption from {name} that belongs to this image.",
        "Describe this picture with a sentence from {name}.",
    ),
    ("captions", 1): (
        "Find another {name} caption of the same image.",
        "Which sentence from {name} describes the same scene in other words?",
        "Give me a different {name} text about what is described here.",
        "Retrieve a caption from {name} that means the same.",
        "I am looking for {a} sentence that tells of the same picture.",
    ),
    ("titles", 0): (
        "Find {a} image that fits this title.",
        "Which picture from {name} goes by this name?",
        "Show me the {name} image that this text names.",
        "Retrieve the picture from {name} that is described here.",
        "I am looking for {a} image of what the text says.",
    ),
    ("titles", 3): (
        "Find the {name} title of this image.",
        "Which text from {name} names what is shown?",
        "Give me the name that {name} has for this picture.",
        "Retrieve the title from {name} that belongs to the image.",
        "What is this picture called in {name}?",
    ),
    ("titles", 2): (
        "Find {a} picture with its title that has these properties.",
        "Which entry of {name}, image and text together, fits this list?",
        "Show me {a} image and its name for what is described.",
        "Retrieve the picture and title from {name} that match these words.",
        "I am looking for {a} entry, picture and text, of this kind.",
    ),
    ("attributes", 0): (
        "Find {a} image that has these properties.",
        "Which picture from {name} fits this list?",
        "Show me {a} image of this kind.",
        "Retrieve an image from {name} that these words describe.",
        "I am looking for {a} picture with all of this.",
    ),
    ("answers", 6): (
        "Find the {name} answer to this question about the image.",
        "Which text from {name} answers what is asked about this picture?",
        "Answer the question about the photo with {a} text.",
        "Look at the image and retrieve the right answer from {name}.",
        "Give me {a} answer that is true for this picture.",
    ),
    ("composed", 7): (
        "Find {a} image that looks like this one with the change described.",
        "Which picture from {name} shows this, altered as the text says?",
        "Show me {a} image like this, but different in the way I describe.",
        "Retrieve the {name} picture that results from this change.",
        "I am looking for {a} image similar to this one that follows the text.",
    ),
    ("iconic", 4): (
        "Find the clean {name} picture of what this photo shows.",
        "Which image from {name} presents the same product?",
        "Show me the {name} catalogue picture of this.",
        "Retrieve the picture from {name} that shows the same thing on its own.",
        "I have this photo; find the matching {name} image.",
    ),
    ("iconic", 6): (
        "Find the {name} description of the product in this photo.",
        "Which text from {name} explains what is shown here?",
        "Answer the question about the photo with {a} product description.",
        "Retrieve the text from {name} that tells what this is.",
        "I would like to read what {name} says about this product.",
    ),
    ("iconic", 8): (
        "Find the {name} picture and description of the product in this photo.",
        "Which entry of {name}, image and text together, shows what this is?",
        "Show me the {name} catalogue picture of this with its description.",
        "Retrieve the product page from {name}, picture and text, for this photo.",
        "I would like to see and read what {name} has on this product.",
    ),
    ("images", 0): (
        "Find {a} image that shows what is described.",
        "Which picture from {name} fits these words?",
        "Show me {a} photo of this.",
        "Retrieve the image from {name} that the text is about.",
    ),
    ("images", 4): (
        "Find {a} image that looks like this one.",
        "Which picture from {name} is similar to this?",
        "Show me {a} photo of the same kind.",
        "Retrieve an image from {name} that resembles this picture.",
    ),
}


def instructions(rules: Iterable[str], dataset: str) -> dict[int, list[str]]:
    """task -> at least four instructions that name the dataset, for the rules that applied to it."""
    name = " ".join(dataset.replace("_", " ").split())
    article = "an" if name[:1].lower() in "aeiou" else "a"
    prompts: dict[int, list[str]] = {}
    for rule in rules:
        for (name_of_rule, task), templates in INSTRUCTIONS.items():
            if name_of_rule == rule:
                prompts.setdefault(task, []).extend(
                    template.format(a=f"{article} {name}", name=name) for template in templates
                )
    return prompts


def attribute_sentence(attributes: dict[str, str], variant: int) -> str:
    """{"articleType": "Shirts", "baseColour": "Red"} -> a sentence. variant: chooses its form and the order."""
    pairs = [(_spaced(name), _word(value)) for name, value in attributes.items()]
    turn = variant // 4 % len(pairs)
    pairs = pairs[turn:] + pairs[:turn]
    values = ", ".join(value for _, value in pairs)
    named = ", ".join(f"{name} {value}" for name, value in pairs)
    return (
        f"Something with {named}.",
        f"{values[:1].upper()}{values[1:]}.",
        f"I want this: {named}.",
        f"Anything that is {values}.",
    )[variant % 4]


def keyword_sentence(words: str, variant: int) -> str:
    """ "law, copyright" -> a sentence. variant: chooses one of four forms."""
    words = words.replace("_", " ")
    return (
        f"Something about {words}.",
        f"{words[:1].upper()}{words[1:]}.",
        f"It has to do with {words}.",
        f"Anything that stands for {words}.",
    )[variant % 4]


def _spaced(name: str) -> str:
    """articleType, article_type -> article type"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower()


def _word(value: str) -> str:
    """Lower-case words that are only capitalized; keep others (USB, iPad)."""
    return " ".join(word.lower() if word.istitle() else word for word in value.split())
