"""`wakesleep models`."""

import json
from dataclasses import dataclass


@dataclass
class Models:
    """List the trained models that come with the package (`ws.load_pretrained(NAME)`)."""

    json: bool = False
    """Print their cards as a JSON object."""

    def run(self) -> int:
        """Print the cards."""
        from rich.console import Console
        from rich.table import Table

        from wakesleep.pretrained import list_pretrained

        cards = list_pretrained()
        if self.json:
            print(json.dumps({card.name: card.about for card in cards}))
            return 0
        table = Table("name", "architecture", "data", "test NLL", "epochs", "made by", "commit")
        for card in cards:
            about = card.about
            nll = f"{about['nll']:.2f} ± {about['interval']:.2f}"
            data = f"{about['data']} ({about['binarisation']})"
            made = [about["command"], about["commit"]]
            table.add_row(card.name, about["model"], data, nll, str(about["epochs"]), *made)
        Console().print(table)
        return 0
