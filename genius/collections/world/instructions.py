"""How each row is asked: four phrasings to train with, two more to test with."""

from __future__ import annotations

PHRASINGS: dict[tuple[str, int], tuple[tuple[str, ...], tuple[str, ...]]] = {    # (dataset, task) -> training, held out
    ("drawn_visualnews", 0): (
        (
            "Find the news image that goes with this headline.",
            "Show me the press photo for the following news.",
            "Which news picture was printed above this headline?",
            "Retrieve the image of the reported event.",
        ),
        ("Give me the newspaper photo that belongs to this story.", "Look up the press image this headline is about."),
    ),
    ("drawn_visualnews", 3): (
        (
            "Find the news headline that goes with this image.",
            "Which headline was printed below this press photo?",
            "Retrieve the text of the news story for this picture.",
            "Write out the headline reported with this photo.",
        ),
        ("Give me the newspaper text that belongs to this photo.", "Look up the headline for this press image."),
    ),
    ("drawn_mscoco", 0): (
        (
            "Find an everyday image that shows what the caption says.",
            "Show me a picture that this sentence describes.",
            "Retrieve the image described by the caption.",
            "Which picture fits these words?",
        ),
        ("I would like to see an image of the described scene.", "Look for the picture this caption was written for."),
    ),
    ("drawn_mscoco", 3): (
        (
            "Find a caption that describes this everyday image.",
            "Write a sentence that says what this picture shows.",
            "Retrieve the caption of the given image.",
            "Which sentence describes this picture?",
        ),
        (
            "I would like to read a caption for this image.",
            "Look for the sentence that was written about this picture.",
        ),
    ),
    ("drawn_fashion200k", 0): (
        (
            "Find the fashion product image for this shop description.",
            "Show me the garment that the product text offers.",
            "Which shop picture shows this piece of fashion?",
            "Retrieve the product photo described here.",
        ),
        ("I want to see the shop image of this product.", "Look for the picture of the garment on offer."),
    ),
    ("drawn_fashion200k", 3): (
        (
            "Find the shop description of this fashion product.",
            "Which product text offers the garment shown?",
            "Retrieve the text that a shop wrote for this picture.",
            "Describe this piece of fashion as a shop would.",
        ),
        ("I want to read the product description for this image.", "Look for the shop's text on the garment shown."),
    ),
    ("drawn_webqa", 1): (
        (
            "Find a paragraph that answers this question.",
            "Retrieve the text passage that holds the answer.",
            "Which written fact answers what I ask?",
            "Answer the question with a text from the web.",
        ),
        ("I need a paragraph of text with the answer.", "Look up a written passage that settles this question."),
    ),
    ("drawn_webqa", 2): (
        (
            "Find an image with its caption that answers this question.",
            "Retrieve the captioned picture that holds the answer.",
            "Which picture and text together answer what I ask?",
            "Answer the question with an illustrated page from the web.",
        ),
        (
            "I need a picture with text that gives the answer.",
            "Look up an image and its caption that settle this question.",
        ),
    ),
    ("drawn_edis", 2): (
        (
            "Find the news photo with headline that matches this report.",
            "Retrieve the press picture and its text for this event.",
            "Which illustrated news item tells the same story?",
            "Show me image and headline of the news described.",
        ),
        (
            "I am after the news picture together with its headline.",
            "Look for the illustrated report about this event.",
        ),
    ),
    ("drawn_nights", 4): (
        (
            "Find the image that looks most like this one.",
            "Show me the most similar picture.",
            "Retrieve a picture of the same look.",
            "Which image resembles this one the most?",
        ),
        ("I want the picture closest to this in appearance.", "Look for a near twin of this image."),
    ),
    ("drawn_oven", 6): (
        (
            "Find the encyclopedia text on what this picture shows.",
            "Retrieve the entry that names the thing in the image.",
            "Which written entry identifies the pictured entity?",
            "Answer with the text of the encyclopedia about this entity.",
        ),
        ("I want to read the entry that names this.", "Look up the text identifying the thing shown."),
    ),
    ("drawn_oven", 8): (
        (
            "Find the illustrated encyclopedia page on what this picture shows.",
            "Retrieve picture and entry that name the thing in the image.",
            "Which page, image and text together, identifies the pictured entity?",
            "Answer with the illustrated page about this entity.",
        ),
        ("I want the page with picture and text that names this.", "Look up the illustrated entry on the thing shown."),
    ),
    ("drawn_infoseek", 6): (
        (
            "Find the passage that answers this question about the picture.",
            "Retrieve the text with the fact I ask about the image.",
            "Which written passage answers what is asked of this entity?",
            "Answer the question about the photo with a passage of text.",
        ),
        (
            "I want to read the passage that answers this about the image.",
            "Look up the text for my question on the picture.",
        ),
    ),
    ("drawn_infoseek", 8): (
        (
            "Find the illustrated page that answers this question about the picture.",
            "Retrieve picture and passage with the fact I ask about the image.",
            "Which page, image and text together, answers what is asked of this entity?",
            "Answer the question about the photo with an illustrated page.",
        ),
        (
            "I want the page with picture and text that answers this about the image.",
            "Look up the illustrated passage for my question on the picture.",
        ),
    ),
    ("drawn_fashioniq", 7): (
        (
            "Find a fashion image like this one with the changes described.",
            "Show me the garment of the picture, altered as I say.",
            "Which fashion picture looks like this but follows my wish?",
            "Retrieve the picture of a similar garment with this change.",
        ),
        ("I want to see this garment changed as the text says.", "Look for a fashion photo like this, modified."),
    ),
    ("drawn_cirr", 7): (
        (
            "Find the image that results from this edit of the scene.",
            "Show me this scene changed as described.",
            "Which picture shows the scene after the change?",
            "Retrieve the image that differs from this as the text says.",
        ),
        ("I want to see the scene with this edit applied.", "Look for a picture of the altered scene."),
    ),
}
