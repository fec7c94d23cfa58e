"""`wakesleep data fetch`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wakesleep.errors import UsageError
from wakesleep.options import Number


@dataclass
class Fetch:
    """Download data sets, check them and pack them: the only command that uses a network.

    Interrupted, the same command goes on with what has arrived.
    """

    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="NAME")]
    """Data sets, as `wakesleep data` lists them."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Where to put them; the folder that WAKESLEEP_DATA names unless given."""
    mirror: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="ADDRESS")
    ] = ()
    """Try ADDRESS/FILE before the known places; may be given several times."""
    sha256: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="FILE=DIGEST")
    ] = ()
    """The checksum of a file whose own is not known; without one nothing is downloaded."""
    timeout: Annotated[float, Number(above=0, most=86_400)] = 30.0
    """Seconds of silence after which an address is left for the next."""
    overwrite: bool = False
    """Fetch again what is there already."""
    quiet: bool = False
    """No progress."""

    def run(self) -> int:
        """Fetch one after another."""
        from wakesleep.cli.progress_bars import DownloadProgress
        from wakesleep.data import DATASETS
        from wakesleep.download import fetch_dataset
        from wakesleep.download.transfer import Patience

        if not self.names:
            raise UsageError("name the data sets to fetch: wakesleep data fetch NAME...")
        folder = self._folder()
        for name in self.names:
            if (folder / f"{name}.npz").exists() and not self.overwrite:
                print(f"{folder / name}.npz is there already: --overwrite fetches it again")
                continue
            with DownloadProgress(quiet=self.quiet) as progress:
                path = fetch_dataset(
                    name,
                    folder,
                    mirrors=self.mirror,
                    sha256=self._digests(),
                    patience=Patience(self.timeout),
                    progress=progress,
                )
            sizes = " / ".join(map(str, DATASETS[name].sizes))
            print(f"wrote {path}: {sizes} rows (train / valid / test)")
        return 0

    def _folder(self) -> Path:
        from wakesleep.data.archives import FOLDER_VARIABLE

        named = os.environ.get(FOLDER_VARIABLE)
        if self.out is None and not named:
            raise UsageError(f"say where to: --out FOLDER, or set {FOLDER_VARIABLE} to a folder")
        return self.out or Path(str(named))

    def _digests(self) -> dict[str, str]:
        pairs = [given.partition("=") for given in self.sha256]
        for (name, equals, digest), given in zip(pairs, self.sha256, strict=True):
            if not (name and equals and digest):
                raise UsageError(f"--sha256 takes FILE=DIGEST, not '{given}'")
        return {name: digest for name, _, digest in pairs}
