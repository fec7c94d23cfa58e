"""`wakesleep data`."""

from dataclasses import dataclass


@dataclass
class Data:
    """List the known data sets, their sizes, and whether they are here."""

    json: bool = False
    """Print a JSON list instead of a table."""

    def run(self) -> int:
        """Print the list."""
        from wakesleep.data import list_datasets

        listings = list_datasets()
        if self.json:
            import dataclasses
            import json

            print(json.dumps([dataclasses.asdict(listing) for listing in listings], indent=2))
            return 0
        from rich.console import Console
        from rich.table import Table

        table = Table("name", "train / valid / test", "bits", "present", "what it is")
        for listing in listings:
            table.add_row(
                listing.name,
                " / ".join(map(str, listing.sizes)),
                str(listing.features),
                "yes" if listing.absence is None else "no",
                listing.description,
            )
        Console().print(table)
        if any(listing.absence for listing in listings):
            print("Sets that are not present are looked for in the folder WAKESLEEP_DATA names.")
        return 0
