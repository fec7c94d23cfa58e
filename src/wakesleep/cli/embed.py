"""`wakesleep embed`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wakesleep.cli.new_rows_output import say_notes, write_result
from wakesleep.cli.run_options import NewRowsOptions
from wakesleep.errors import UsageError
from wakesleep.options import Seed


@dataclass
class Embed:
    """Write features for the rows of another file: what is expected of each column and latent.

    A number is standardised, levels are 0 and 1; a missing number has its mean, and missing levels
    have their probabilities. Then come posterior means: h1_3 is the third unit of the layer next to
    the data. Of a mixture, component_2 is the probability that the row is its second component's,
    among the components in which columns are independent given the latents.

    Example: wakesleep embed runs/latent new.csv --out features.csv
    """

    options: NewRowsOptions
    out: Path = Path("features.csv")
    """A table: .csv, .tsv, .csv.gz, .parquet or .feather."""
    features: Literal["all", "latents"] = "all"
    """Columns and latents, or the latents alone."""
    seed: Seed = 0
    """Of the samples."""

    def run(self) -> int:
        """Infer and write."""
        import jax

        from wakesleep.cli.progress_bars import working
        from wakesleep.inference.features import feature_names, row_features

        options = self.options
        run, new = options.open(self.out)
        names = feature_names(run.machine, new.schema, which=self.features)
        if not names:
            raise UsageError(
                f"{options.run_folder} holds a model without latents: leave --features away to "
                "have its columns"
            )
        table = None
        if new.schema is not None and new.encoded is not None:
            table = new.schema, new.encoded
        with working("inferring"):
            key = jax.random.key(self.seed)
            values = row_features(
                run.machine, new.rows, options.samples, key, table=table, which=self.features
            )
        write_result(new.named(dict(zip(names, values.T, strict=True))), self.out)
        if options.json:
            about = {"rows": len(new), "features": len(names), "written": str(self.out)}
            print(json.dumps({**about, "notes": list(new.notes)}))
        elif not options.quiet:
            say_notes(new.notes)
            print(f"wrote {len(names)} features of {len(new)} rows to {self.out}")
        return 0
