"""Settings, counters and findings of the emulated device."""

import os
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

ORDERS = ("forward", "reverse", "random")
MODES = ("fast", "check", "count")


@dataclass
class Settings:
    """How the emulated device runs, and what it has."""

    order: str = "forward"  # of threads in a block, and of blocks
    seed: int = 0
    mode: str = "fast"
    memory_bytes: int = 16 << 30
    shared_bytes: int = 48 << 10  # of a block, without opting in
    shared_bytes_optin: int = 163 << 10
    n_multiprocessors: int = 108
    n_devices: int = 1

    def check(self):
        """Raise if a value is unknown."""
        if self.order not in ORDERS:
            raise ValueError(
                f"order must be one of {', '.join(map(repr, ORDERS))}; got {self.order!r}"
            )
        if self.mode not in MODES:
            raise ValueError(
                f"mode must be one of {', '.join(map(repr, MODES))}; got {self.mode!r}"
            )


settings = Settings(
    order=os.environ.get("GPUBOOST_EMULATE_ORDER", "forward"),
    seed=int(os.environ.get("GPUBOOST_EMULATE_SEED", "0")),
    mode=os.environ.get("GPUBOOST_EMULATE_MODE", "fast"),
)


@contextmanager
def configure(**changes):
    """Change settings for a while: ``with configure(order="random", seed=3, mode="check").

    ...``.
    """
    before = replace(settings)
    _set(replace(settings, **changes))
    try:
        yield settings
    finally:
        _set(before)


def _set(new):
    new.check()
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

    @property
    def n_launches(self):
        """Launches of all kernels."""
        return sum(self.launches.values())

    def reset(self):
        """Start again from zero."""
        self.__init__()

    def snapshot(self):
        """A copy, as a dict."""
        return {
            f.name: (dict(v) if isinstance(v := getattr(self, f.name), dict) else v)
            for f in fields(self)
        }


counters = Counters()
_findings = []
_kernel_counts = {}


def reports():
    """What check mode has found, one line each."""
    return list(_findings)


def clear_reports():
    """Forget the findings."""
    _findings.clear()


def report(text):
    """Add a finding; the same one is kept once."""
    if text not in _findings:
        _findings.append(text)


def kernel_counts():
    """What count mode has counted: {kernel: {what: number}}.

    See README.md for what each number is.
    """
    return {name: dict(own) for name, own in _kernel_counts.items()}


def clear_kernel_counts():
    """Start counting again."""
    _kernel_counts.clear()


def add_kernel_counts(name, own):
    """Add a launch's numbers."""
    total = _kernel_counts.setdefault(name, dict.fromkeys(own, 0))
    for what, number in own.items():
        total[what] += number
