"""Settings, counters and findings of the emulated device."""

import os
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

ORDERS = ("forward", "reverse", "random")
MODES = ("fast", "check", "count")
#: Architectures and compilers whose PTX can be run.
ARCHITECTURES = tuple(f"sm_{n}" for n in (70, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121))
COMPILERS = ("cu12", "cu13")


@dataclass
class Settings:
    """How the emulated device runs, and what it has."""

    order: str = "forward"  # of threads in a block, and of blocks
    seed: int = 0  # of orders that are drawn
    mode: str = "fast"
    ptx: str = ""  # architecture whose compiled kernels are run; "": the source, compiled by g++
    nvrtc: str = "cu12"  # the compiler, if ptx says an architecture
    late: bool = True  # work runs when its result is needed, not at once; fast mode only
    cupy_version: str = "14.2.0"  # of the CuPy that is played
    memory_bytes: int = 16 << 30
    shared_bytes: int = 48 << 10  # of a block, without opting in
    shared_bytes_optin: int = 163 << 10
    n_multiprocessors: int = 108
    n_devices: int = 1

    def check(self):
        """Raise if a value is unknown."""
        for name, choices in (
            ("order", (*ORDERS, "preempted") if self.ptx else ORDERS),
            ("mode", MODES[:1] if self.ptx else MODES),
            ("ptx", ("", *ARCHITECTURES)),
            ("nvrtc", COMPILERS),
        ):
            value = getattr(self, name)
            if value not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}"
                )


settings = Settings(
    order=os.environ.get("GPUBOOST_EMULATE_ORDER", "forward"),
    seed=int(os.environ.get("GPUBOOST_EMULATE_SEED", "0")),
    mode=os.environ.get("GPUBOOST_EMULATE_MODE", "fast"),
    ptx=os.environ.get("GPUBOOST_EMULATE_PTX", ""),
    nvrtc=os.environ.get("GPUBOOST_EMULATE_NVRTC", "cu12"),
    late=os.environ.get("GPUBOOST_EMULATE_LATE", "1") not in ("", "0"),
)
settings.check()
#: Called before a setting changes: what was launched before runs as was set then.
before_change = []


@contextmanager
def configure(**changes):
    """Change settings for a while: ``with configure(order="random", seed=3): ...``."""
    before = replace(settings)
    _set(replace(settings, **changes))
    try:
        yield settings
    finally:
        _set(before)


def _set(new):
    new.check()
    for prepare in before_change:
        prepare()
    for f in fields(Settings):
        setattr(settings, f.name, getattr(new, f.name))


@dataclass
class Counters:
    """What has happened on the emulated device."""

    launches: dict = field(default_factory=dict)  # by kernel
    graph_launches: int = 0
    synchronizations: int = 0
    uploads: int = 0
    upload_bytes: int = 0
    downloads: int = 0
    download_bytes: int = 0

    def launched(self, name):
        """Count the launch of a kernel."""
        self.launches[name] = self.launches.get(name, 0) + 1

    def moved(self, kind, n_bytes):
        """Count a copy: kind 1 is to the device, 2 from it."""
        if kind == 1:
            self.uploads += 1
            self.upload_bytes += n_bytes
        elif kind == 2:
            self.downloads += 1
            self.download_bytes += n_bytes

    def reset(self):
        """Start again from zero."""
        self.__init__()


counters = Counters()
findings = []  # what check mode has found, each finding once
hazards = []  # uses of memory that nothing orders, each once
#: What count mode has counted: {kernel: {what: number}}; README.md says what each number is.
kernel_counts = defaultdict(Counter)
