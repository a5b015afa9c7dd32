"""The instructions of each (dataset, task) row: four for training, two held out."""

from __future__ import annotations

PHRASINGS: dict[tuple[str, int], tuple[tuple[str, ...], tuple[str, ...]]] = {  # (dataset, task) -> (training, held out)
    ("drawn_visualnews", 0): (
        (
            "Find the press photo for this headline.",
            "Show me the news image of the reported event.",
            "Get the news picture that goes with this story.",
            "Retrieve the press image behind this news.",
        ),
        ("Fetch the news photo for this story.", "I want the press picture of this event."),
    ),
    ("drawn_visualnews", 3): (
        (
            "Find the headline for this press photo.",
            "Show me the news text about this image.",
            "Get the headline that goes with this news picture.",
            "Retrieve the news story behind this press image.",
        ),
        ("Fetch the news headline for this photo.", "I want the headline about this press picture."),
    ),
    ("drawn_mscoco", 0): (
        (
            "Find the everyday image for this caption.",
            "Show me the picture that these words describe.",
            "Get the everyday photo of this scene.",
            "Retrieve the image that goes with the caption.",
        ),
        ("Fetch the everyday picture for these words.", "I want the photo that the caption describes."),
    ),
    ("drawn_mscoco", 3): (
        (
            "Find the caption for this everyday image.",
            "Show me the sentence that describes this picture.",
            "Get the caption of this everyday photo.",
            "Retrieve the words that go with the image.",
        ),
        ("Fetch the sentence for this everyday picture.", "I want the caption that describes this photo."),
    ),
    ("drawn_fashion200k", 0): (
        (
            "Find the product image for this shop description.",
            "Show me the shop picture of this garment.",
            "Get the product photo that the shop text offers.",
            "Retrieve the shop image of the fashion described.",
        ),
        ("Fetch the product picture for this shop text.", "I want the shop photo of the garment described."),
    ),
    ("drawn_fashion200k", 3): (
        (
            "Find the shop description for this product image.",
            "Show me the product text of this garment.",
            "Get the shop text that offers this product photo.",
            "Retrieve the description of the fashion in this shop image.",
        ),
        ("Fetch the product description for this shop picture.", "I want the shop text of the garment shown."),
    ),
    ("drawn_webqa", 1): (
        (
            "Find the paragraph that answers this question.",
            "Show me the post with the answer.",
            "Get the written passage that answers what I ask.",
            "Retrieve the text from the web with this fact.",
        ),
        ("Fetch the paragraph with the answer.", "I want the written post that answers this."),
    ),
    ("drawn_webqa", 2): (
        (
            "Find the captioned image that answers this question.",
            "Show me the illustrated post with the answer.",
            "Get the picture with text that answers what I ask.",
            "Retrieve the image and caption from the web with this fact.",
        ),
        ("Fetch the captioned picture with the answer.", "I want the illustrated post that answers this."),
    ),
    ("drawn_edis", 2): (
        (
            "Find the press photo with headline for this report.",
            "Show me the illustrated news about this event.",
            "Get the news picture and text that tell this story.",
            "Retrieve the press image together with its headline for this news.",
        ),
        ("Fetch the news photo with headline for this story.", "I want the illustrated news of this report."),
    ),
    ("drawn_nights", 4): (
        (
            "Find the image that looks most like this one.",
            "Show me the picture most similar to this.",
            "Get the photo of the same look.",
            "Retrieve the image that resembles this picture.",
        ),
        ("Fetch the picture that looks like this one.", "I want the image most similar to this photo."),
    ),
    ("drawn_oven", 6): (
        (
            "Find the entry that names what this picture shows.",
            "Show me the encyclopedia text about this entity.",
            "Get the written entry that identifies this.",
            "Retrieve the text of the encyclopedia on the thing in this image.",
        ),
        ("Fetch the encyclopedia entry about this entity.", "I want the text that names the thing in this picture."),
    ),
    ("drawn_oven", 8): (
        (
            "Find the illustrated page that names what this picture shows.",
            "Show me the encyclopedia page with picture about this entity.",
            "Get the image and entry that identify this.",
            "Retrieve the illustrated page of the encyclopedia on the thing in this image.",
        ),
        (
            "Fetch the illustrated encyclopedia page about this entity.",
            "I want the page with picture that names the thing in this image.",
        ),
    ),
    ("drawn_infoseek", 6): (
        (
            "Find the passage that answers my question about this picture.",
            "Show me the text with the fact about this image.",
            "Get the written passage that answers this about the photo.",
            "Retrieve the passage of text for the question on this image.",
        ),
        (
            "Fetch the passage with the fact about this picture.",
            "I want the text that answers my question about the photo.",
        ),
    ),
    ("drawn_infoseek", 8): (
        (
            "Find the illustrated passage that answers my question about this picture.",
            "Show me the page with picture and fact about this image.",
            "Get the image and passage that answer this about the photo.",
            "Retrieve the illustrated page for the question on this image.",
        ),
        (
            "Fetch the illustrated passage with the fact about this picture.",
            "I want the page with picture that answers my question about the photo.",
        ),
    ),
    ("drawn_fashioniq", 7): (
        (
            "Find the fashion image like this one with the wished change.",
            "Show me the picture of this garment, altered as I say.",
            "Get the fashion photo that follows my wish.",
            "Retrieve the picture of a garment like this with the change.",
        ),
        (
            "Fetch the fashion picture of this garment with the change.",
            "I want the image of this garment, altered as I wish.",
        ),
    ),
    ("drawn_cirr", 7): (
        (
            "Find the image of this scene after the edit.",
            "Show me the picture of this scene, changed as described.",
            "Get the photo that results from the edit.",
            "Retrieve the image that differs from this scene as the text says.",
        ),
        ("Fetch the picture of this scene after the change.", "I want the image that results from this edit."),
    ),
}
