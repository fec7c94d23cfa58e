"""Data sets from their public places: the only code in the package that uses a network."""

from wakesleep.download.fetch import fetch_dataset
from wakesleep.download.sources import SOURCES

__all__ = ["SOURCES", "fetch_dataset"]
