"""What users see while long work goes on.

That is a bar on a terminal, plain lines elsewhere, and nothing unless asked for.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from typing import Any

from gpuboost.terminal import visible

#: Most lines that a piece of work prints where there is no terminal and no other number was asked
#: for, and least seconds between two.
LINES, PAUSE = 10, 1.0

log = logging.getLogger("gpuboost")


def note(text: str) -> None:
    """A line on standard error if it is a terminal, above a bar if there is one; else to the log.

    The log is that of the logger ``gpuboost``, at level INFO.
    """
    if not sys.stderr.isatty():
        log.info(text)
    elif "tqdm" in sys.modules:
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)
    else:
        print(text, file=sys.stderr, flush=True)


class Compilation:
    """What the kernels' compiler says of its work in this process."""

    def __init__(self) -> None:
        self.seconds = 0.0  #: so far
        self.told = False  #: whether the user knows about it

    def begins(self, seconds: int) -> None:
        """Tell once that compilation goes on, before one that takes long."""
        if not self.told:
            self.told = True
            note(
                f"gpuboost: compiling kernels for the first time: about {seconds} s, only once "
                "(gpuboost warmup does it ahead)"
            )

    def took(self, seconds: float) -> None:
        """Add the time of a compilation."""
        self.seconds += seconds


compilation = Compilation()


class Progress:
    """A bar, or lines, on standard error.

    Parameters
    ----------
    total : int or None
        Steps of the whole work; None: nobody knows.
    label : str
        What is going on, in a word or two.
    unit : str
        What a step is.
    verbose : int
        0: nothing. 1: a bar on a terminal; elsewhere up to ten lines, a second or more apart. More:
        a line every so many steps.
    scaled : bool
        Whether to show large numbers as 1.2k or 3.4M.
    compiles : bool
        Whether the work is to compile. Else the clock stands still during compilation, which
        happens once and has no part in the time that is left.
    """

    def __init__(
        self,
        total: int | None,
        label: str,
        unit: str,
        verbose: int = 1,
        scaled: bool = False,
        compiles: bool = False,
    ) -> None:
        self.total, self.label, self.unit = total, visible(label), unit
        self._done, self._note = 0, ""
        self._bar: Any = None
        self._compiles, self._aside = compiles, compilation.seconds
        self._lock, self._start = threading.Lock(), self._clock()
        self._every, self._reported, self._next = 0, 0, 0.0
        if verbose == 1 and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=total,
                desc=self.label,
                unit=unit if scaled else f" {unit}",
                unit_scale=scaled,
                dynamic_ncols=True,
            )
        elif verbose:
            self._every = verbose if verbose > 1 else max(1, (total or 0) // LINES)
            self._pause = 0.0 if verbose > 1 else PAUSE
            self._next = self._start + self._pause

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some steps more are done; ``note`` is what to say about them.

        May be called from several threads.
        """
        with self._lock:
            self._done += steps
            self._note = visible(note)
            if self._bar is not None:
                self._take_compilation_off_the_bar()
                if note:
                    self._bar.set_postfix_str(self._note, refresh=False)
                self._bar.update(steps)
            elif (
                self._every
                and self._done // self._every > self._reported // self._every
                and self._clock() >= self._next
            ):
                self._say()

    def _clock(self) -> float:
        return time.perf_counter() - (0.0 if self._compiles else compilation.seconds)

    def _take_compilation_off_the_bar(self) -> None:
        if not self._compiles:
            seconds, self._aside = compilation.seconds - self._aside, compilation.seconds
            self._bar.start_t += seconds
            self._bar.last_print_t += seconds

    def _say(self) -> None:
        self._reported, self._next = self._done, self._clock() + self._pause
        seconds = self._clock() - self._start
        left = ""
        if self.total and self._done < self.total:
            left = f", about {seconds / self._done * (self.total - self._done):.1f} s left"
        of = "" if self.total is None else f"/{self.total:,}"
        note = f"  {self._note}" if self._note else ""
        print(
            f"{self.label}: {self._done:,}{of} {self.unit}{note}  ({seconds:.1f} s{left})",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        """Leave the bar as it is and go on to the next line."""
        if self._bar is not None:
            self._bar.close()
        elif self._every and self._reported != self._done:
            self._say()

    def __enter__(self) -> Progress:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close, also after an error."""
        self.close()
