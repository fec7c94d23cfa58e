"""`wakesleep embed`."""

import json
from dataclasses import dataclass
from pathlib import Path

from wakesleep.cli.new_rows_output import say_notes, write_result
from wakesleep.cli.run_options import NewRowsOptions
from wakesleep.errors import UsageError
from wakesleep.options import Seed


@dataclass
class Embed:
    """Write the posterior means of the latent units for the rows of another file: features.

    Column h1_3 is the third unit of the layer next to the data; a row's numbers depend on that
    row alone. Of a mixture, component_2 is the probability that the row is its second component's.

    Example: wakesleep embed runs/latent new.csv --out features.csv
    """

    options: NewRowsOptions
    out: Path = Path("features.csv")
    """A table: .csv, .tsv, .csv.gz, .parquet or .feather."""
    seed: Seed = 0
    """Of the samples."""

    def run(self) -> int:
        """Infer and write."""
        import jax

        from wakesleep.cli.progress_bars import working
        from wakesleep.inference.posterior import embedding_names, infer_rows

        options = self.options
        run, new = options.open(self.out)
        names = embedding_names(run.machine)
        if not names:
            raise UsageError(
                f"{options.run_folder} holds a model without latents: there is nothing to embed"
            )
        with working("inferring"):
            key = jax.random.key(self.seed)
            means = infer_rows(run.machine, new.rows, options.samples, key).means
        write_result(new.named(dict(zip(names, means.T, strict=True))), self.out)
        if options.json:
            about = {"rows": len(new), "features": len(names), "written": str(self.out)}
            print(json.dumps({**about, "notes": list(new.notes)}))
        elif not options.quiet:
            say_notes(new.notes)
            print(f"wrote {len(names)} features of {len(new)} rows to {self.out}")
        return 0
