"""How many values JSON text holds, counted before any of them is made."""

from __future__ import annotations


def has_more_values(text: bytes, most: int) -> bool:
    """Tell whether JSON has more values in its lists and objects than `most`.

    A megabyte of JSON can hold half a million empty lists, which need a hundred times its memory
    once they are parsed. Counting takes a fraction of the time that parsing does, and works on any
    bytes.
    """
    # Without escaped quotes, every second part between quotes is outside of strings.
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * most + 4:  # an entry of an object has at most four
        return True
    outside = b"".join(plain.split(b'"')[::2])
    return sum(map(outside.count, (b",", b"{", b"["))) > most
