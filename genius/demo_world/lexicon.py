"""Words for each factor: several each, so that texts can vary.

The first entry of each list is the plainest. Nouns are written "singular/plural"; a regular plural is left out.
"""

from __future__ import annotations

import re

KINDS: dict[str, tuple[str, ...]] = {
    # animals
    "cat": ("cat", "feline", "tomcat", "mouser"),
    "dog": ("dog", "hound", "canine", "pup"),
    "horse": ("horse", "stallion", "mare", "steed"),
    "rabbit": ("rabbit", "bunny/bunnies", "hare", "long-eared hopper"),
    "elephant": ("elephant", "trunked giant", "tusker"),
    "giraffe": ("giraffe", "long-necked grazer", "tall savanna beast"),
    "owl": ("owl", "night bird", "hooting bird"),
    "penguin": ("penguin", "flightless swimmer", "waddling bird"),
    "turtle": ("turtle", "tortoise", "shelled reptile"),
    "fish": ("fish/fish", "finned swimmer", "carp/carp"),
    "butterfly": ("butterfly/butterflies", "winged insect", "fluttering insect"),
    "snail": ("snail", "slow crawler", "spiral-shelled creature"),
    # vehicles
    "car": ("car", "motorcar", "sedan", "hatchback"),
    "bus": ("bus/buses", "coach/coaches", "omnibus/omnibuses"),
    "truck": ("truck", "pickup", "hauler"),
    "bicycle": ("bicycle", "bike", "two-wheeler"),
    "airplane": ("airplane", "aircraft/aircraft", "jet"),
    "sailboat": ("sailboat", "yacht", "sailing vessel"),
    "train": ("train", "locomotive", "railway engine"),
    "balloon": ("hot-air balloon", "aerostat", "floating balloon"),
    "rocket": ("rocket", "spaceship", "space launcher"),
    "helicopter": ("helicopter", "chopper", "rotorcraft/rotorcraft"),
    # instruments
    "guitar": ("guitar", "six-string", "strummed instrument"),
    "drum": ("drum", "percussion instrument", "tom-tom"),
    "trumpet": ("trumpet", "brass horn", "cornet"),
    "piano": ("piano", "grand", "keyboard instrument"),
    "violin": ("violin", "fiddle", "bowed instrument"),
    "harp": ("harp", "plucked instrument", "lyre"),
    # garments
    "shirt": ("shirt", "top", "tee"),
    "dress": ("dress/dresses", "gown", "frock"),
    "trousers": (
        "pair of trousers/pairs of trousers",
        "pair of slacks/pairs of slacks",
        "pair of pants/pairs of pants",
    ),
    "skirt": ("skirt", "kilt", "waist-hung garment"),
    "coat": ("coat", "jacket", "overcoat"),
    "hat": ("hat", "headgear/headgear", "head covering"),
    "sneaker": ("sneaker", "trainer", "sports shoe"),
    "boot": ("boot", "sturdy footwear/sturdy footwear", "leather boot"),
    "handbag": ("handbag", "purse", "shoulder bag"),
    "umbrella": ("umbrella", "parasol", "brolly/brollies"),
    "scarf": ("scarf/scarves", "neck wrap", "shawl"),
    "sock": ("sock", "stocking", "knitted hose/knitted hose"),
    "glove": ("glove", "mitten", "hand warmer"),
    "backpack": ("backpack", "rucksack", "knapsack"),
    # food
    "apple": ("apple", "orchard fruit", "crisp fruit"),
    "cupcake": ("cupcake", "frosted muffin", "little cake"),
    "ice cream": ("ice cream", "gelato cone", "frozen treat"),
    "donut": ("donut", "glazed ring", "ring-shaped pastry/ring-shaped pastries"),
    "mug": ("mug", "coffee cup", "beaker"),
    "teapot": ("teapot", "tea kettle", "brewing pot"),
    "pumpkin": ("pumpkin", "gourd", "squash/squashes"),
    "cheese": ("wedge of cheese/wedges of cheese", "dairy wedge", "piece of gouda/pieces of gouda"),
    # plants
    "tree": ("tree", "leafy trunk", "tall timber"),
    "tulip": ("tulip", "spring flower", "cup-shaped bloom"),
    "cactus": ("cactus/cacti", "succulent", "prickly plant"),
    "mushroom": ("mushroom", "toadstool", "fungus/fungi"),
    "sunflower": ("sunflower", "big-headed bloom", "sun-facing blossom"),
    "palm": ("palm", "coconut tree", "tropical fronds/tropical fronds"),
    # furniture
    "chair": ("chair", "seat", "armless seat"),
    "sofa": ("sofa", "couch/couches", "settee"),
    "table": ("table", "dining board", "desk"),
    "lamp": ("lamp", "light stand", "shaded light"),
    "bed": ("bed", "bunk", "sleeping berth"),
    "bookcase": ("bookcase", "bookshelf/bookshelves", "set of shelves/sets of shelves"),
    "clock": ("clock", "timepiece", "wall chronometer"),
    # buildings
    "house": ("house", "cottage", "home"),
    "lighthouse": ("lighthouse", "beacon", "coastal light tower"),
    "windmill": ("windmill", "flour mill", "wind-driven mill"),
    "castle": ("castle", "fortress/fortresses", "citadel"),
    "tower": ("tower", "belfry/belfries", "spire"),
    "bridge": ("bridge", "arched crossing", "viaduct"),
    "temple": ("temple", "columned shrine", "sanctuary/sanctuaries"),
    "tent": ("tent", "canvas shelter", "pavilion"),
}

FAMILIES: dict[str, tuple[str, ...]] = {  # what a whole family is called, where a text leaves the kind open
    "animal": ("animal", "creature", "beast"),
    "vehicle": ("vehicle", "means of transport/means of transport", "machine that travels/machines that travel"),
    "instrument": ("musical instrument", "music maker"),
    "garment": (
        "piece of clothing/pieces of clothing",
        "thing to wear/things to wear",
        "item of apparel/items of apparel",
    ),
    "food": ("thing from the kitchen/things from the kitchen", "kitchen treat"),
    "plant": ("plant", "growing thing"),
    "furniture": ("piece of furniture/pieces of furniture", "household furnishing"),
    "building": ("building", "structure", "landmark"),
}

COLORS: dict[str, tuple[str, ...]] = {
    "red": ("red", "scarlet", "ruby"),
    "orange": ("orange", "tangerine", "amber"),
    "yellow": ("yellow", "golden", "lemon-coloured"),
    "green": ("green", "emerald", "leaf-coloured"),
    "teal": ("teal", "turquoise", "aquamarine"),
    "blue": ("blue", "azure", "cobalt"),
    "purple": ("purple", "violet", "plum-coloured"),
    "pink": ("pink", "rosy", "fuchsia"),
    "brown": ("brown", "chestnut", "chocolate-coloured"),
    "black": ("black", "ebony", "coal-dark"),
    "grey": ("grey", "silvery", "ash-coloured"),
    "white": ("white", "ivory", "milk-pale"),
}

PATTERNS: dict[str, tuple[str, ...]] = {  # all can stand before a noun
    "plain": ("plain", "solid-coloured", "unpatterned"),
    "striped": ("striped", "banded", "pinstripe"),
    "spotted": ("spotted", "polka-dot", "dappled"),
    "checkered": ("checkered", "chessboard-patterned", "checked"),
    "zigzag": ("zigzag", "chevron-patterned", "jagged-lined"),
    "floral": ("floral", "flower-printed", "blossom-covered"),
    "starry": ("starry", "star-spangled", "star-printed"),
    "plaid": ("plaid", "tartan", "crossbarred"),
}

SHADES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # a vague wish -> colors, and how it is said
    "warm": (("red", "orange", "yellow", "pink", "brown"), ("in a warm colour", "warmer", "in a sunny tone")),
    "cool": (("green", "teal", "blue", "purple"), ("in a cool colour", "cooler", "in a watery tone")),
    "neutral": (("black", "grey", "white"), ("in a neutral shade", "without any bright colour", "colourless")),
}

PRINTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # likewise for patterns
    "plain": (("plain",), ("without a pattern", "simpler", "with no print")),
    "straight": (
        ("striped", "checkered", "zigzag", "plaid"),
        ("with straight lines", "with a geometric pattern", "lined"),
    ),
    "print": (("spotted", "floral", "starry"), ("with a playful print", "with small motifs", "busier")),
}

SIZES: dict[str, tuple[str, ...]] = {"small": ("small", "little", "tiny"), "large": ("large", "big", "huge")}

COUNTS: dict[int, tuple[str, ...]] = {
    1: ("a", "one", "a single", "a lone"),
    2: ("two", "a pair of", "a couple of"),
    3: ("three", "a trio of", "a threesome of"),
    4: ("four", "a quartet of", "a foursome of"),
}

STYLES: dict[str, tuple[str, ...]] = {  # all can follow a noun
    "sitting": ("sitting", "seated", "on its haunches"),
    "walking": ("walking", "strolling", "on the move"),
    "sleeping": ("sleeping", "asleep", "taking a nap"),
    "running": ("running", "dashing", "at a sprint"),
    "standing": ("standing", "upright", "on its feet"),
    "galloping": ("galloping", "racing", "in full gallop"),
    "hopping": ("hopping", "leaping", "in mid-jump"),
    "grazing": ("grazing", "feeding", "with its head lowered"),
    "perched": ("perched", "roosting", "with folded wings"),
    "flying": ("flying", "on the wing", "in flight"),
    "sliding": ("sliding", "gliding on its belly", "slithering along"),
    "resting": ("resting in its shell", "tucked inside its shell", "withdrawn and hidden"),
    "swimming": ("swimming", "drifting", "gliding along"),
    "crawling": ("crawling", "creeping", "inching along"),
    "parked": ("parked", "standing still", "at rest"),
    "driving": ("driving", "speeding along", "in motion"),
    "launching": ("launching", "lifting off", "blasting upwards"),
    "lit": ("lit", "switched on", "glowing"),
    "unlit": ("unlit", "switched off", "not glowing"),
    "dark": ("without light", "unlighted", "with its light out"),
    "short-sleeved": ("with short sleeves", "short in the arm", "half-sleeved"),
    "long-sleeved": ("with long sleeves", "long in the arm", "full-sleeved"),
    "short": ("cut short", "above the knee", "of brief length"),
    "long": ("cut long", "down to the ankle", "of floor length"),
    "full-length": ("full in length", "reaching the feet", "long-legged"),
    "cropped": ("cropped", "ending at the calf", "shortened"),
    "hooded": ("with a hood", "hooded", "with a cowl"),
    "collared": ("with a collar", "collared", "with lapels"),
    "brimmed": ("with a wide brim", "broad-brimmed", "wide-rimmed"),
    "peaked": ("with a peak", "visored", "with a visor"),
    "low": ("low-cut", "below the ankle", "with a low shaft"),
    "high": ("high-top", "covering the ankle", "with a high shaft"),
    "ankle": ("ankle-high", "of short shaft", "ending at the ankle"),
    "knee-high": ("knee-high", "with a tall shaft", "reaching the knee"),
    "strapped": ("with a strap", "to hang from the shoulder", "on a sling"),
    "clutch": ("strapless", "held in the hand", "of clutch form"),
    "open": ("opened", "unfurled", "spread wide"),
    "folded": ("folded", "furled", "closed"),
    "knotted": ("tied in a knot", "knotted", "looped round"),
    "hanging": ("hanging loose", "draped", "untied"),
    "round": ("with a round crown", "ball-shaped", "rounded"),
    "conifer": ("with needles", "cone-shaped", "evergreen"),
    "branched": ("with arms", "branching", "many-armed"),
    "upright": ("with four straight legs", "firmly upright", "on four legs"),
    "rocking": ("that rocks", "on curved runners", "with rockers"),
}

SCENES: dict[str, tuple[str, ...]] = {
    "beach": ("on the beach", "by the sea", "at the seaside", "on the sand"),
    "forest": ("in the forest", "in the woods", "deep in woodland"),
    "city": ("in the city", "on a street", "downtown", "among tall buildings"),
    "mountains": ("in the mountains", "below the peaks", "in the highlands"),
    "desert": ("in the desert", "among the dunes", "in arid country"),
    "meadow": ("in a meadow", "on the grass", "in a green field"),
    "harbour": ("in the harbour", "at the docks", "on the quay"),
    "snowfield": ("in a snowfield", "on the ice", "in a wintry plain"),
    "room": ("in a room", "indoors", "inside the parlour"),
    "stage": ("on a stage", "in a theatre", "under spotlights"),
    "": ("on a neutral backdrop", "in the studio", "in front of a plain wall"),
}

TIMES: dict[str, tuple[str, ...]] = {
    "dawn": ("at dawn", "at daybreak", "early in the morning"),
    "day": ("by day", "at noon", "in broad daylight"),
    "dusk": ("at dusk", "at sunset", "in the evening"),
    "night": ("at night", "after dark", "past midnight"),
}

WEATHERS: dict[str, tuple[str, ...]] = {
    "clear": ("in fine weather", "under a cloudless sky", "on a clear day"),
    "cloudy": ("in cloudy weather", "under a grey overcast", "beneath heavy clouds"),
    "rainy": ("in the rain", "during a downpour", "on a wet day"),
    "snowy": ("while snow falls", "amid snowflakes", "in a flurry"),
    "foggy": ("in the fog", "in thick mist", "in haze"),
}

RELATIONS: dict[str, tuple[str, ...]] = {
    "left of": ("left of", "to the left of", "on the left-hand side of"),
    "right of": ("right of", "to the right of", "on the right-hand side of"),
    "in front of": ("in front of", "before", "nearer than"),
    "behind": ("behind", "at the back of", "farther off than"),
    "above": ("above", "higher than", "over"),
    "below": ("below", "lower than", "underneath"),
}


def noun(entry: str, count: int) -> str:
    """The singular or plural of an entry such as "fish/fish", "cat" or "pony"."""
    singular, _, plural = entry.partition("/")
    if count == 1:
        return singular
    regular = (
        f"{singular[:-1]}ies"
        if re.search("[^aeiou]y$", singular)
        else f"{singular}es"
        if re.search("(s|x|ch|sh)$", singular)
        else f"{singular}s"
    )
    return plural or regular


QUERY_NOUNS: dict[str, str] = {  # words for kinds that the grammar never writes, but that a visitor may
    "cat": "kitty kitten pussycat tabby moggy",
    "dog": "doggy puppy pooch mutt terrier",
    "horse": "pony foal colt nag",
    "rabbit": "cottontail lapin",
    "elephant": "pachyderm mammoth",
    "owl": "owlet",
    "fish": "goldfish/goldfish trout/trout salmon/salmon",
    "turtle": "terrapin",
    "butterfly": "moth monarch",
    "snail": "slug escargot",
    "car": "automobile auto cab taxi limousine",
    "bus": "minibus trolleybus",
    "truck": "lorry van semi",
    "bicycle": "cycle pushbike tandem",
    "airplane": "plane airliner aeroplane",
    "sailboat": "boat sloop dinghy ship",
    "train": "tram railcar",
    "rocket": "missile shuttle",
    "helicopter": "copter",
    "guitar": "ukulele banjo",
    "drum": "bongo snare tambour",
    "trumpet": "bugle",
    "piano": "pianoforte",
    "violin": "viola",
    "shirt": "blouse tshirt jersey pullover",
    "dress": "robe sundress",
    "skirt": "miniskirt",
    "coat": "parka anorak blazer",
    "hat": "cap fedora sombrero",
    "sneaker": "gymshoe runner",
    "boot": "wellington bootee",
    "handbag": "tote satchel pouch",
    "umbrella": "sunshade",
    "scarf": "muffler stole",
    "sock": "footsie hosiery",
    "glove": "gauntlet",
    "backpack": "daypack haversack schoolbag",
    "apple": "pippin braeburn",
    "cupcake": "brownie fairycake",
    "donut": "doughnut bagel cruller",
    "mug": "teacup tankard",
    "teapot": "samovar",
    "pumpkin": "marrow",
    "cheese": "cheddar brie",
    "tree": "oak pine fir maple",
    "tulip": "crocus lily",
    "cactus": "saguaro",
    "mushroom": "champignon shroom",
    "sunflower": "daisy marguerite",
    "palm": "palmtree",
    "chair": "armchair stool",
    "sofa": "divan loveseat futon",
    "table": "workbench counter",
    "lamp": "lantern nightlight",
    "bed": "cot mattress",
    "bookcase": "shelf/shelves cupboard cabinet",
    "clock": "alarm watch",
    "house": "hut cabin villa bungalow",
    "lighthouse": "pharos",
    "windmill": "gristmill",
    "castle": "fort palace stronghold",
    "tower": "turret campanile",
    "bridge": "footbridge overpass",
    "temple": "pantheon church chapel",
    "tent": "tepee yurt wigwam",
}

QUERY_COLORS: dict[str, str] = {  # likewise for colors
    "red": "crimson maroon vermilion burgundy cherry",
    "orange": "apricot coral rust",
    "yellow": "canary mustard saffron",
    "green": "lime olive jade mint",
    "teal": "cyan aqua",
    "blue": "navy indigo sapphire cerulean",
    "purple": "lilac mauve lavender magenta",
    "pink": "blush rose",
    "brown": "tan beige hazel",
    "black": "onyx inky",
    "grey": "gray slate silver",
    "white": "pearl snowy creamy",
}


def synonyms() -> dict[str, list[str]]:
    """A word of the grammar -> words that a user may type instead, in the same number."""
    found: dict[str, list[str]] = {}
    for table, more, counts in ((KINDS, QUERY_NOUNS, (1, 2)), (COLORS, QUERY_COLORS, (1,))):
        for name, words in more.items():
            for entry in table[name]:
                for count in counts:
                    if (written := noun(entry, count)).isalpha():
                        found.setdefault(written, []).extend(noun(word, count) for word in words.split())
    return found
