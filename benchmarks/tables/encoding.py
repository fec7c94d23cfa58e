"""Tables as scikit-learn's estimators want them: numbers standardised, levels one-hot."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


def is_numeric(column: pd.Series) -> bool:
    """Numbers with more than two values; all else is levels."""
    return pd.api.types.is_numeric_dtype(column) and column.nunique() > 2


@dataclass(frozen=True)
class Encoding:
    """Made of training rows: mean and deviation of each number column, levels of the others."""

    numbers: dict[str, tuple[float, float]]
    levels: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> "Encoding":
        numbers, levels = {}, {}
        for name in frame.columns:
            column = frame[name]
            if is_numeric(column):
                spread = float(column.std())
                numbers[name] = float(column.mean()), spread if spread > 0 else 1.0
            else:
                levels[name] = tuple(sorted(column.dropna().astype(str).unique()))
        return cls(numbers, levels)

    def transform(self, frame: pd.DataFrame, gaps: bool = False) -> np.ndarray:
        """`[N, D]`; with `gaps` a missing cell is NaN, otherwise the mean, or no level."""
        parts = []
        for name, (mean, spread) in self.numbers.items():
            parts.append(((frame[name].to_numpy(float) - mean) / spread)[:, None])
        for name, levels in self.levels.items():
            texts = frame[name].astype(object)
            hot = np.stack([(texts.astype(str) == level) for level in levels], axis=1).astype(float)
            hot[texts.isna().to_numpy()] = np.nan
            parts.append(hot)
        table = np.concatenate(parts, axis=1)
        return table if gaps else np.nan_to_num(table, nan=0.0)

    def inverse(self, table: np.ndarray, like: pd.DataFrame) -> pd.DataFrame:
        """Numbers in their units, the largest level of each group, as texts."""
        columns, at = {}, 0
        for name, (mean, spread) in self.numbers.items():
            columns[name] = table[:, at] * spread + mean
            at += 1
        for name, levels in self.levels.items():
            part = table[:, at : at + len(levels)]
            columns[name] = np.array(levels, object)[part.argmax(1)]
            at += len(levels)
        return pd.DataFrame(columns)[list(like.columns)]


def for_trees(frame: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Columns for boosted trees: numbers as they are, levels as categories of `like`'s."""
    columns = {}
    for name in like.columns:
        if is_numeric(like[name]):
            columns[name] = frame[name].astype(float)
        else:
            levels = sorted(like[name].dropna().astype(str).unique())
            texts = frame[name].astype(object)
            known = texts.astype(str).where(texts.notna(), None)
            columns[name] = pd.Categorical(known, categories=levels)
    return pd.DataFrame(columns)
