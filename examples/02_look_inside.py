"""What a model of handwritten digits has learned: samples, receptive fields, units in use.

Usage: python examples/02_look_inside.py

Writes samples.png, probabilities.png and fields.png into the working folder.
"""

from pathlib import Path

import jax

import wakesleep as ws
from wakesleep.models import sample_means
from wakesleep.pictures import SIGNED, layout, save_canvas
from wakesleep.runs.fields import generative_fields, scaled, strongest
from wakesleep.runs.latent_use import latent_use


def main() -> None:
    """Train on the digits that come with scikit-learn, and look."""
    data = ws.load_dataset("digits")
    model = ws.build("sbn/sbn 10-50", features=data.features, key=jax.random.key(0))
    trained = ws.fit(model, data, ws.Recipe(epochs=30), seed=0).model

    key = jax.random.key(1)
    save_canvas(Path("samples.png"), layout(data, ws.sample(trained, 64, key=key)))
    save_canvas(Path("probabilities.png"), layout(data, sample_means(trained, 64, key=key)))

    fields = scaled(strongest(generative_fields(trained), 36))
    save_canvas(Path("fields.png"), layout(data, fields, colours=SIGNED), colours=SIGNED)

    for number, use in enumerate(latent_use(trained, data.valid, key=key), start=1):
        print(f"latent layer {number}: {use.alive} of {use.units} units are alive")


if __name__ == "__main__":
    main()
