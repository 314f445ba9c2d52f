"""How much memory a file may ask for: files are not trusted."""

from ldlearn.exceptions import TableError

DEFAULT_MAX_BYTES = 16 << 30
# Deflate reaches 1,032 to 1; real data of mostly zeros stay below 200 (the Movie set has 170).
MOST_EXPANSION = 250
ALWAYS_ALLOWED = 64 << 20  # bytes, whatever the ratio: a small file may hold nothing but zeros
MOST_NAMES = 1_000_000  # a column costs a name even where a file stores no number of it


def check_declared(declared: int, stored: int) -> None:
    """Refuse a file that announces far more bytes than it can hold, before anything is allocated."""
    if declared > max(ALWAYS_ALLOWED, MOST_EXPANSION * stored):
        raise TableError(
            f"it announces {declared:,} bytes of data in {stored:,} bytes of file; it is refused as broken or "
            "malicious."
        )


def check_total(declared: int, max_bytes: int) -> None:
    """Refuse a file whose arrays would not fit into what the caller allows."""
    if declared > max_bytes:
        raise TableError(
            f"it would take {declared:,} bytes of memory, more than the limit {max_bytes:,}; raise max_bytes if that "
            "is meant."
        )
