"""`wakesleep explore`."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wakesleep.cli.run_options import INTERRUPTED


@dataclass
class Explore:
    """Ask a model in a browser: give some columns or pixels, and see what it makes of the rest.

    One page on this machine alone; two runs on the same data stand side by side. Ctrl-C ends it.

    Example: wakesleep explore runs/demo-table
    """

    run_folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """One run folder, or two."""
    port: int = 0
    """Of 127.0.0.1; 0 for any that is free."""

    def run(self) -> int:
        """Serve until interrupted."""
        from wakesleep.explore import LocalServer, open_subjects

        with LocalServer(open_subjects(self.run_folders), self.port) as server:
            print(f"look at {server.url}\nCtrl-C ends it", flush=True)
            with contextlib.suppress(KeyboardInterrupt):
                server.serve_forever()
        print("stopped: the page answers no more")
        return INTERRUPTED
