"""How far a likelihood is from what simpler models give, in words. No JAX here."""

import math
from collections.abc import Mapping
from typing import Any

YARDSTICKS = {
    "independent_columns": "independent columns",
    "mixture": "a mixture of independent columns",
}
"""What a likelihood is compared with, as summaries and as people call it."""


def gains(ours: float, summary: Mapping[str, Any], columns: int) -> list[tuple[str, float, float]]:
    """What each yardstick is called, its gain in nats, and in bits per column."""
    found = []
    for name, words in YARDSTICKS.items():
        if summary.get(name) is not None:
            gain = ours - summary[name]
            found.append((words, gain, gain / math.log(2) / columns))
    return found


def gain_sentences(ours: float, summary: Mapping[str, Any], columns: int) -> list[str]:
    """A sentence for each yardstick."""
    return [
        f"{words} give{'s' if words.startswith('a ') else ''} {ours - nats:.3f}: this model is "
        f"{abs(nats):.3f} nats {'better' if nats >= 0 else 'worse'}, "
        f"{abs(bits):.3f} bits per column"
        for words, nats, bits in gains(ours, summary, columns)
    ]
