"""Find out the type of a file from its first bytes, whatever the client declared. Pure.

Only types that may be shown inline, and archives, need to be known. Everything else, such as HTML, SVG or PDF, is opaque
and saved by browsers.
"""

HEAD_BYTES = 64
OPAQUE = "application/octet-stream"
ZIP = "application/zip"

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypM4B", "audio/mp4"),
    (4, b"ftypqt", "video/quicktime"),
    (4, b"ftypisom", "video/mp4"),
    (4, b"ftypiso", "video/mp4"),
    (4, b"ftypmp4", "video/mp4"),
    (4, b"ftypavc1", "video/mp4"),
    (4, b"ftypdash", "video/mp4"),
    (4, b"ftypM4V", "video/mp4"),
)


def sniff_type(head: bytes) -> str:
    """Return the type of a file that starts with these bytes, or an opaque one."""
    for at, magic, found in _MAGIC:
        if head[at : at + len(magic)] == magic:
            return found
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12], OPAQUE)
    if head[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in head else OPAQUE
    if head[:4] == b"OggS":
        return "video/ogg" if b"theora" in head else "audio/ogg"
    return OPAQUE
