"""Models that come with the package, each with a card that says how it was made. No JAX here."""

import json
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakesleep.errors import UsageError

if TYPE_CHECKING:
    from wakesleep.models import BitModel

CARD_FIELDS = (
    *("experiment", "row", "model", "data", "binarisation", "nll", "interval", "samples"),
    *("epochs", "recipe", "seed", "command", "commit"),
)


@dataclass(frozen=True)
class Card:
    """What a pretrained model is: its name and what the result of its training says."""

    name: str
    about: dict[str, Any]


def list_pretrained() -> list[Card]:
    """The cards of all models, by name."""
    texts = [file for file in files(__name__).iterdir() if file.name.endswith(".json")]
    cards = [Card(file.name[:-5], json.loads(file.read_text(encoding="utf-8"))) for file in texts]
    return sorted(cards, key=lambda card: card.name)


def load_pretrained(name: str) -> "BitModel":
    """A model that comes with the package; `wakesleep models` lists them.

    >>> import jax, wakesleep as ws
    >>> model = ws.load_pretrained("adult-nade-30")
    >>> ws.sample(model, 2, key=jax.random.key(0)).shape
    (2, 123)
    """
    from wakesleep.storage import load_model

    names = [card.name for card in list_pretrained()]
    if name not in names:
        raise UsageError(f"no pretrained model is called '{name}'; valid: {', '.join(names)}")
    with as_file(files(__name__) / f"{name}.safetensors") as path:
        return load_model(path)


def add_pretrained(name: str, model: Path, result: Path, folder: Path) -> None:
    """Put a trained model among the pretrained ones, with a card made of its row's result.

    It is stored at half precision: the card's NLL is that of the row, before rounding.
    """
    from wakesleep.atomic import write_atomically
    from wakesleep.storage import load_model, save_model

    row = json.loads(result.read_text(encoding="utf-8"))
    card = {field: row[field] for field in CARD_FIELDS}
    save_model(load_model(model), folder / f"{name}.safetensors", half=True, card=card)
    write_atomically(folder / f"{name}.json", (json.dumps(card, indent=2) + "\n").encode())
