"""The instructions of each row of the photo collection: those for training, and two that are held out.

The five real sets are trained with the instructions that genius.collections writes; here are only their held-out ones.
"""

from __future__ import annotations

WHAT_IS_THIS = (
    "What is this?",
    "What does the photo show?",
    "What can you see here?",
    "What am I looking at?",
    "Can you tell what this is?",
    "What is in this picture?",
    "Do you know what this is?",
    "What is that called?",
)

# (dataset, task) -> (training, held out)
PHRASINGS: dict[tuple[str, int], tuple[tuple[str, ...], tuple[str, str]]] = {
    ("photos", 0): (
        (
            "Find the photograph that these words describe.",
            "Show me a photo of this.",
            "Which photograph shows what is named here?",
            "Get a real picture of what the text says.",
            "I am looking for a photograph of this.",
        ),
        ("Fetch a photo that fits these words.", "Let me see a photograph of it."),
    ),
    ("photos", 2): (
        (
            "Find the photograph with its name for these words.",
            "Show me a photo of this together with its title.",
            "Which photograph and title belong to this text?",
            "Get the picture and the name of what is described.",
        ),
        ("Fetch the titled photo of this.", "I want the photograph with its title for these words."),
    ),
    ("photos", 3): (
        (
            "Find the title of this photograph.",
            "Name what this photo shows.",
            "Which words describe the photograph?",
            "Get the name of what is in this picture.",
            "Give me a short text that says what this photo shows.",
        ),
        ("Fetch the words that name this photo.", "Tell me the title of this photograph."),
    ),
    ("photos", 4): (
        (
            "Find similar photographs.",
            "Show me more photos of the same kind of thing.",
            "Which other photographs show the same as this one?",
            "Get pictures like this one.",
            "I want to see other photos of this.",
        ),
        ("Fetch more photographs like this.", "Let me see other pictures of the same thing."),
    ),
    ("photos", 6): (
        (
            "Answer the question about this photo with its title.",
            "Find the name that answers what I ask about the photograph.",
            "Which title answers the question about this picture?",
            "Get the words that name what I ask about this photo.",
        ),
        ("Fetch the title that answers my question about the photo.", "Tell me the name that I ask for."),
    ),
    ("photos", 7): (
        (
            "Find a photograph like this one, changed as I say.",
            "Show me a photo that differs from this one in what the text says.",
            "Which photograph is like this, but as described?",
            "Get a picture of the same sort with this change.",
            "I like this photo; find one that follows my wish.",
        ),
        ("Fetch a photo like this with my change.", "I want a photograph like this one, but different as I say."),
    ),
    ("photos", 8): (
        (
            "Find the photograph and title that answer the question about this photo.",
            "Show me a similar photo with its name that answers what I ask.",
            "Which titled photograph shows what this is?",
            "Get the picture and the words that answer my question about this one.",
        ),
        (
            "Fetch the titled photo that answers my question.",
            "I want a photograph with a name that tells what this is.",
        ),
    ),
    ("encyclopedia", 1): (
        (
            "Find the encyclopedia entry for this.",
            "Look this up in the encyclopedia.",
            "Which entry of the encyclopedia explains what is named here?",
            "Get the definition of this.",
            "Explain this with an entry of the encyclopedia.",
        ),
        ("Fetch the entry that defines this.", "Tell me what the encyclopedia says about it."),
    ),
    ("encyclopedia", 2): (
        (
            "Find the illustrated entry of the encyclopedia for this.",
            "Look this up and show it with a picture.",
            "Which illustrated page of the encyclopedia explains this?",
            "Get the picture and the definition of what is named here.",
        ),
        ("Fetch the page with a picture that defines this.", "I want to see and read what this is."),
    ),
    ("encyclopedia", 3): (
        (
            "Find the encyclopedia entry for what this picture shows.",
            "Explain what is in this photo.",
            "Which entry of the encyclopedia is about this?",
            "Get the definition of what can be seen here.",
            "Look up in the encyclopedia what this image shows.",
        ),
        ("Fetch the entry that defines what is shown.", "Tell me what the encyclopedia says about this picture."),
    ),
    ("encyclopedia", 6): (
        (
            "Answer the question about the picture with an entry of the encyclopedia.",
            "Find the encyclopedia entry that says what this is.",
            "Which entry explains what I ask about this photo?",
            "Identify this and give me its definition.",
            "Read in the encyclopedia and tell me what the photo shows.",
        ),
        ("Fetch the entry that answers what I ask about this image.", "Use the encyclopedia to name this."),
    ),
    ("encyclopedia", 8): (
        (
            "Find the illustrated entry of the encyclopedia that says what this is.",
            "Answer the question about the photo with a picture and a definition.",
            "Which illustrated page of the encyclopedia explains this?",
            "Show me a picture of the same thing with its definition.",
        ),
        (
            "Fetch the page with picture and text that answers what I ask.",
            "I want an illustrated entry about what is in this photo.",
        ),
    ),
}

HELD_OUT: dict[tuple[str, int], tuple[str, str]] = {  # of the five real sets
    ("flickr8k", 0): (
        "Fetch the flickr8k photograph of what is described.",
        "I want to see the flickr8k scene of this text.",
    ),
    ("flickr8k", 1): (
        "Fetch a further flickr8k description of this scene.",
        "I want other flickr8k words for the same picture.",
    ),
    ("flickr8k", 3): ("Fetch a flickr8k description of this photo.", "I want the flickr8k words for this image."),
    ("fashion", 0): ("Fetch the fashion photo of this product.", "I want to see the fashion article of this title."),
    ("fashion", 2): (
        "Fetch the fashion article, photo and title, with these properties.",
        "I want to see and read the fashion article of this kind.",
    ),
    ("fashion", 3): ("Fetch the fashion name of this article.", "I want to know the title of this in fashion."),
    ("fashion", 7): (
        "Fetch the fashion photo of this with the wished change.",
        "I want the fashion article like this, but as I say.",
    ),
    ("grocery", 4): ("Fetch the clean grocery photo of this product.", "I want the grocery picture of this on white."),
    ("grocery", 6): ("Fetch the grocery text about this product.", "I want the grocery description of what I see."),
    ("grocery", 8): (
        "Fetch the grocery page, picture and text, about this product.",
        "I want the illustrated grocery description of what I see.",
    ),
    ("visual7w", 6): ("Fetch the visual7w reply to this question.", "I want to know from visual7w what I ask here."),
    ("emoji", 0): ("Fetch the emoji of this name.", "I want the emoji picture for these words."),
    ("emoji", 2): ("Fetch the emoji with its name for this list.", "I want the named emoji that stands for this."),
    ("emoji", 3): ("Fetch the name of this emoji.", "I want to know what this emoji stands for."),
}
