"""What bytes are by how they begin, and what to do about those that are no picture to be read."""

import re

KINDS = {  # kind -> how its files begin; the first that fits
    "JPEG": rb"\xff\xd8\xff",
    "PNG": rb"\x89PNG\r\n\x1a\n",
    "GIF": rb"GIF8",
    "WebP": rb"RIFF.{4}WEBP",
    "BMP": rb"BM.{4}\0{4}",
    "TIFF": rb"II[*+]\0|MM\0[*+]",
    "AVIF": rb".{4}ftyp(avi[fs]|(mif1|msf1).{4}(.{4})*?avi[fs])",
    "HEIC": rb".{4}ftyp(hei|hev|mif1|msf1)",
    "a camera raw": rb".{4}ftypcrx|FUJIFILMCCD-RAW|II(RO|RS|U\0)|FOVb|\0MRM",
    "JPEG XL": rb"\xff\x0a|\0\0\0\x0cJXL ",
    "JPEG 2000": rb"\xff\x4f\xff\x51|\0\0\0\x0cjP  ",
    "a film": rb".{4}(ftyp|moov|mdat)|\x1a\x45\xdf\xa3|RIFF.{4}AVI |\0\0\x01[\xba\xb3]",
    "a web page": rb"\s*<(?i:!doctype html|html|head|body|script)",
    "SVG": rb"\s*<(?i:\?xml|svg|!doctype svg)",
    "JSON": rb"\s*[{\[]\s*[\"{\[}\]]",
    "a pointer of Git LFS": rb"version https://git-lfs",
    "PDF": rb"%PDF",
    "PSD": rb"8BPS",
    "a GIMP picture": rb"gimp xcf",
    "PostScript": rb"%!PS|\xc5\xd0\xd3\xc6",
    "EXR": rb"v/1\x01",
    "Radiance HDR": rb"#\?(RADIANCE|RGBE)",
    "PPM": rb"P[1-7fF]\s",
    "ICO": rb"\0\0[\x01\x02]\0[^\0]\0",
    "a ZIP": rb"PK\x03\x04",
}
PATTERNS = {kind: re.compile(start, re.DOTALL) for kind, start in KINDS.items()}
HEAD = 64  # bytes that tell the kind
TGA_END = b"TRUEVISION-XFILE.\0"
ADVICE = {
    "TIFF": "save it with 8 or 16 bits a channel",
    "HEIC": "pip install pillow-heif, or export it as JPEG",
    "a camera raw": "develop camera raws to JPEG",
    "a film": "save a frame of it as JPEG",
    "a pointer of Git LFS": "git lfs pull",
    "a web page": "a server sent it in place of the picture, so download that again",
    "JSON": "a server sent it in place of the picture, so download that again",
    "PDF": "save its pages as JPEG or PNG",
    "a ZIP": "unpack it",
}


def kind_of(data: bytes) -> str | None:
    """The kind of a file, of which the first HEAD bytes are enough but for TGA; None if unknown."""
    head = data[:HEAD].removeprefix(b"\xef\xbb\xbf")  # a mark of UTF-8
    if kind := next((kind for kind, pattern in PATTERNS.items() if pattern.match(head)), None):
        return kind
    return "TGA" if data.endswith(TGA_END) else None
