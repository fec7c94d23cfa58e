"""`wakesleep models`."""

import json
from dataclasses import dataclass


@dataclass
class Models:
    """List the trained models that come with the package (`ws.load_pretrained(NAME)`).

    Example: wakesleep models
    """

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
        table = Table(caption="--json has the whole cards, with recipe, command and commit")
        for column in ("name", "architecture", "data", "test NLL", "epochs"):
            table.add_column(column, no_wrap=column != "data")
        for card in cards:
            about = card.about
            nll = f"{about['nll']:.2f} ± {about['interval']:.2f}"
            data = f"{about['data']}, {about['binarisation']}"
            table.add_row(card.name, about["model"], data, nll, str(about["epochs"]))
        Console().print(table)
        return 0
