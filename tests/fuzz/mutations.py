"""Small damage to good inputs, by a seed: flips, cuts, repeats, words that readers trip over."""

import random

WORDS = (
    *(b"nan", b"-inf", b"1e999", b"99999999999999999999999999", b"-1", b"0", b"", b"\x00", b"\xff"),
    *(b"\n", b"\r\n", b",", b"\t", b'"', b"'", b"[", b"]", b"{", b"}", b"(", b")", b"=", b"\\"),
    *(b"None", b"True", b"null", b"\xef\xbb\xbf", b"../", b"/etc/passwd", b"\xe2\x80\xa8", b"1_0"),
)


def mutated(content: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """One to four changes."""
    data = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(data) + 1)
        end = min(len(data), place + dice.randint(0, 16))
        match dice.randrange(7):
            case 0 if data:
                data[place % len(data)] ^= 1 << dice.randrange(8)
            case 1 if data:
                data[place % len(data)] = dice.randrange(256)
            case 2:
                data[place:end] = dice.choice(WORDS)
            case 3:
                del data[place:end]
            case 4:
                data[place:place] = data[place:end] * dice.randint(1, 40)
            case 5:
                other = dice.choice(others)
                start = dice.randrange(len(other) + 1)
                data[place:end] = other[start : start + dice.randint(0, 40)]
            case _:
                del data[dice.randrange(len(data) + 1) :]
    return bytes(data)
