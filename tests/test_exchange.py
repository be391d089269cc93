"""Both devices offer the same operations in the same way, and only those that the seam names."""

import inspect

import numpy as np
import pytest

from gpuboost.backend import (
    Backend,
    Binning,
    Boosting,
    ClassicalTrees,
    HostBackend,
    HostOnly,
    Memory,
    Prediction,
)
from gpuboost.exchange import ClassicalGrower, DeviceArray, Grower
from gpuboost.kernels.cpu.backend import CpuBackend
from gpuboost.kernels.cpu.grower import CpuGrower
from gpuboost.kernels.cpu.trees import CpuTreeGrower
from gpuboost.kernels.cuda.backend import CudaBackend
from gpuboost.kernels.cuda.grower import CudaGrower
from gpuboost.kernels.cuda.trees import CudaTreeGrower
from gpuboost.kernels.emulation import arrays as emulated

SHARED = (Memory, Binning, Boosting, ClassicalTrees, Prediction)
PAIRS = [
    *((protocol, backend) for protocol in SHARED for backend in (CpuBackend, CudaBackend)),
    (HostOnly, CpuBackend),
    (Grower, CpuGrower),
    (Grower, CudaGrower),
    (ClassicalGrower, CpuTreeGrower),
    (ClassicalGrower, CudaTreeGrower),
]


def operations(cls):
    """Public methods of a class by name."""
    return {
        name: member
        for name, member in vars(cls).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def names(*protocols):
    return {name for protocol in protocols for name in operations(protocol)}


def differences(protocol, cls):
    """What a class does otherwise than a protocol says.

    Names, order, kinds, defaults and annotations of parameters, and what is returned.
    """
    for name, wanted in operations(protocol).items():
        method = operations(cls).get(name)
        if method is None:
            yield f"{cls.__name__} lacks {name}"
        elif inspect.signature(method, eval_str=True) != inspect.signature(wanted, eval_str=True):
            yield f"{cls.__name__}.{name} differs from {protocol.__name__}.{name}"


@pytest.mark.parametrize(("protocol", "cls"), PAIRS, ids=lambda cls: cls.__name__)
def test_operations_are_as_the_protocol_says(protocol, cls):
    assert operations(protocol)
    assert list(differences(protocol, cls)) == []


def test_no_operation_that_no_protocol_names():
    assert set(operations(CpuBackend)) == names(*SHARED, HostOnly)
    assert set(operations(CudaBackend)) == names(*SHARED)


@pytest.mark.parametrize("kind", [np.ndarray, emulated.ndarray])
def test_arrays_have_what_is_asked_of_them(kind):
    asked = {name for name in vars(DeviceArray) if not name.startswith("_")}
    asked |= {"__len__", "__iter__", "__getitem__", "__setitem__"}
    assert {"shape", "dtype", "T", "fill"} <= asked
    assert [name for name in sorted(asked) if not hasattr(kind, name)] == []


def test_what_only_the_host_does():
    assert not names(HostOnly) & set(dir(CudaBackend))
    assert not names(HostOnly) & names(*SHARED)
    assert not names(HostOnly) & set(dir(Backend))


def test_a_backend_is_the_sum_of_the_protocols():
    assert set(SHARED) <= set(Backend.__mro__) and {Backend, HostOnly} <= set(HostBackend.__mro__)
    assert operations(Backend) == operations(HostBackend) == {}


@pytest.mark.parametrize("backend", [CpuBackend, CudaBackend])
def test_backends_say_who_they_are_and_open_and_close(backend):
    assert isinstance(backend.name, str) and isinstance(backend.rounds_unchecked, int)
    for name in ("__enter__", "__exit__"):
        parameters = [inspect.signature(getattr(c, name)).parameters for c in (Backend, backend)]
        assert list(parameters[0]) == list(parameters[1])


class Wanted:
    def operation(self, x: int, y: float = 0.0) -> None: ...


class Same:
    def operation(self, x: int, y: float = 0.0) -> None: ...
    def _of_its_own(self): ...


class OtherName:
    def operation(self, x: int, z: float = 0.0) -> None: ...


class OtherOrder:
    def operation(self, y: float = 0.0, x: int = 0) -> None: ...


class OtherKind:
    def operation(self, x: int, *, y: float = 0.0) -> None: ...


class OtherDefault:
    def operation(self, x: int, y: float = 1.0) -> None: ...


class NoDefault:
    def operation(self, x: int, y: float) -> None: ...


class OtherAnnotation:
    def operation(self, x: int, y: int = 0.0) -> None: ...


class OtherResult:
    def operation(self, x: int, y: float = 0.0) -> int: ...


class Lacking:
    def another(self, x: int, y: float = 0.0) -> None: ...


BROKEN = [
    OtherName,
    OtherOrder,
    OtherKind,
    OtherDefault,
    NoDefault,
    OtherAnnotation,
    OtherResult,
    Lacking,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_every_difference_is_noticed(broken):
    assert list(differences(Wanted, Same)) == []
    assert len(list(differences(Wanted, broken))) == 1
