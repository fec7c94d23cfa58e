"""`wakesleep data`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wakesleep.cli.data_fetch import Fetch
from wakesleep.data import DEFAULT_SPLIT
from wakesleep.options import Seed


@dataclass
class Pack:
    """Write a data set to a .safetensors file, which trains from the disk in little memory."""

    source: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SOURCE")]
    """A data set's name or a file, as `wakesleep train` takes them."""
    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT.safetensors")]
    """The file to write."""
    valid: str | None = None
    """A file with the validation set; otherwise SOURCE is split."""
    test: str | None = None
    """A file with the test set; otherwise SOURCE is split."""
    split: tuple[float, float, float] = DEFAULT_SPLIT
    """Fractions of train, valid and test for a single file."""
    split_seed: Annotated[Seed, tyro.conf.arg(aliases=["--seed"])] = 0
    """Decides which rows go where."""
    binarise: str | None = None
    """For grey values: the least of them, from 0 to 1, that becomes a 1."""

    def run(self) -> int:
        """Write the file and say what is in it."""
        from wakesleep.cli.progress_bars import working
        from wakesleep.data import pack_dataset
        from wakesleep.runs.config import DataConfig

        config = DataConfig(
            self.source, self.valid, self.test, self.split, self.split_seed, self.binarise
        )
        with working("packing"):
            data = config.load()
            pack_dataset(data, self.out)
        rows = " / ".join(str(len(table)) for table in data.splits.values())
        print(f"wrote {self.out}: {rows} rows (train / valid / test) of {data.features} bits")
        return 0


@dataclass
class Data:
    """List the known data sets, their sizes, and whether they are here; pack or fetch one.

    Example: wakesleep data fetch binarized_mnist
    """

    action: (
        Annotated[None, tyro.conf.subcommand("list", prefix_name=False)]
        | Annotated[Pack, tyro.conf.subcommand("pack", prefix_name=False)]
        | Annotated[Fetch, tyro.conf.subcommand("fetch", prefix_name=False)]
    ) = None
    json: bool = False
    """Print a JSON list instead of a table."""

    def run(self) -> int:
        """Print the list, pack or fetch."""
        if self.action is not None:
            return self.action.run()
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
            print("Sets that are not present are looked for in the folder WAKESLEEP_DATA names;")
            print("`wakesleep data fetch NAME` downloads one.")
        return 0
