"""Which rows each round of boosting is trained on, and which are out of its bag."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuboost.backend import Backend
from gpuboost.config import BoostParams
from gpuboost.dtypes import ROW
from gpuboost.exchange import DeviceArray, Drawn, GradientSample
from gpuboost.scalar.sampling import weight_left_out

#: Of rows drawn by ``sampling_method="goss"``, the share of those with the largest gradients.
TOP_PART = 1.0 / 3.0
#: The share of the rows up to which drawn rows and their gradients are put together.
MOST_APART = 0.5


@dataclass(frozen=True)
class RowUnits:
    """Rows that are drawn together, and how likely each row is to be drawn."""

    units: np.ndarray  # (n_rows,) int32
    shares: np.ndarray  # (n_rows,) float64

    @classmethod
    def of(
        cls,
        n_rows: int,
        subsample: float,
        groups: np.ndarray | None = None,
        by_class: np.ndarray | None = None,
    ) -> RowUnits:
        """Rows by themselves or by groups; ``by_class`` are probabilities of the rows' classes."""
        units = np.arange(n_rows) if groups is None else np.unique(groups, return_inverse=True)[1]
        shares = np.full(n_rows, subsample) if by_class is None else by_class
        return cls(units.astype(np.int32), np.ascontiguousarray(shares, np.float64))


def gradient_sample(
    params: BoostParams, n_usable: int, only_drawn: bool = False
) -> GradientSample | None:
    """How rows are drawn by their gradients; None if they are not.

    ``only_drawn`` says that nobody asks for gradients or factors of the other rows.
    """
    if params.sampling_method == "uniform" or params.subsample >= 1:
        return None
    top = params.top_rate if params.top_rate is not None else TOP_PART * params.subsample
    by_size = params.sampling_method == "mvs"
    root = math.sqrt(params.reg_lambda) if by_size else 0.0
    apart = only_drawn and params.subsample <= MOST_APART
    return GradientSample(by_size, params.subsample * n_usable, top * n_usable, root, apart)


class RowSampler:
    """Draws the rows of each round, on the device."""

    def __init__(
        self,
        usable: np.ndarray,
        n_rows: int,
        params: BoostParams,
        units: RowUnits | None,
        out_of_bag: bool,
        backend: Backend,
        only_drawn: bool = False,
    ) -> None:
        self.params, self.backend = params, backend
        self.usable = backend.put(usable)
        self.by_gradient = gradient_sample(params, len(usable), only_drawn and not out_of_bag)
        if units is None and out_of_bag and self.by_gradient is None:
            units = RowUnits.of(n_rows, params.subsample)
        self.units = None
        if units is not None:
            self.units = backend.put(units.units), backend.put(units.shares)
        self.samples = units is not None or params.subsample < 1
        #: (n_rows,) how often each row counts in this round, if anything needs to know it.
        counts = self.units is not None or self.by_gradient is not None
        self.factor = backend.empty((n_rows if counts else 0,), np.float64)
        self.drawn = backend.empty((len(usable),), ROW) if self.samples else self.usable

    @property
    def changes_gradients(self) -> bool:
        """Whether rows that are drawn stand for others."""
        return self.by_gradient is not None

    def draw(
        self, key: Any, g: DeviceArray, h: DeviceArray, weight: DeviceArray, sums: DeviceArray
    ) -> Drawn:
        """The rows of a round; gradients of rows that stand for others are multiplied."""
        backend, usable = self.backend, self.usable
        if not self.samples:
            return Drawn(usable, g, h, weight)
        if self.by_gradient is not None:
            return backend.draw_by_gradient(
                usable, self.by_gradient, g, h, weight, sums, key, self.factor, self.drawn
            )
        if self.units is not None:
            rows = backend.draw_units(usable, *self.units, key, self.factor, self.drawn)
        else:
            rows = backend.draw_rows(usable, self.params.subsample, key, self.drawn)
        return Drawn(rows, g, h, weight)

    def weight_left_out(self, weight: DeviceArray) -> DeviceArray:
        """The weights of the rows that are not drawn, 0 for those that are."""
        return self.backend.each_row(weight_left_out, self.factor.shape, self.factor, weight)
