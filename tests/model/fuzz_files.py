"""Damage model files at random and load them.

Each must load equal or raise ModelFormatError, and nothing else.

    python tests/model/fuzz_files.py --n 100000 --seed 0

Half of the damage is done to the bytes of a file: bits, cuts, insertions, pieces of other files,
sizes. The checksum finds it. The other half is done behind the checksum, which is made anew: fields
of the header and entries of the arrays get odd values, so that it is up to the other checks to find
whatever a kernel could trip over. A changed leaf value is still a model; such a file must predict
finite numbers and be saved as exactly the same bytes again. ``tests/model/test_file.py`` runs a few
thousand of these in every test run."""

import argparse
import copy
import io
import json
import math
import re
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

import gpuboost as gb
from gpuboost.model.file import (
    ALIGNMENT,
    MAGIC,
    PREAMBLE,
    VERSION,
    _digest,
    canonical_json,
    read_model,
    write_model,
)
from gpuboost.model.table_schema import TableSchema

#: Values that a field of the header should not have, or might.
ODD = [
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31 - 1, 2**31, 2**32, 2**63, -(2**63), 10**30, 10**400,
    0.0, -0.0, 0.5, 1.0, 1e308, -1.5, "", "a", "nan", "auto", "cpu", "cuda", "hard", "soft", "sqrt",
    "RandomForestClassifier", "GPUBoostRegressor", "\ud800", "x" * 1000, [], [0], [[]], [None], {},
    {"a": 1}, {"float": "nan"}, {"float": "inf"}, {"float": "x"}, {"tuple": []}, {"tuple": [1, 2]},
    {"dict": []}, {"dict": [[0, 1.0]]}, {"dict": [[[], 1]]}, {"dict": [[1, 2], [0, 3]]},
    {"scalar": "x"}, {"scalar": "ensemble_/trees/left"}, {"objects": ["a"]}, {"objects": []},
    {"array": "ensemble_/trees/left"}, {"array": "x"}, {"what": 1},
]  # fmt: skip
#: Files that have nothing to do with any model but end in the same function.
BOMBS = [
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"a":1,"a":2}',
    b"NaN",
    b'{"n":1e999}',
    b'{"n":' + b"9" * 10_000 + b"}",
    b"",
    b"\xff",
    b" {}",
]


# --- models


def make_models():
    """A small model of every kind, with everything that a file can hold; and rows to predict."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    x[:, 2] = rng.integers(0, 70, 60)
    x[rng.random(x.shape) < 0.1] = np.nan
    signal = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) ** 2
    y, two = np.digitize(signal, [0.0, 1.0]), signal > 0.5
    both = np.stack([y, two], axis=1)
    names = np.array(["low", "middle", "high"], dtype=object)[y]
    weight = rng.integers(0, 3, 60).astype(float)
    boosted, forest, nominal = (
        {"n_estimators": 3, "max_depth": 3},
        {"n_estimators": 3, "max_depth": 4},
        {"categorical_features": [2]},
    )
    valid = {"eval_set": [(x, y)], "eval_sample_weight": [weight]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            gb.GPUBoostRegressor(**boosted, n_jobs=1).fit(
                pd.DataFrame(x, columns=list("abcd")), signal
            ),
            gb.GPUBoostClassifier(
                **boosted, n_jobs=1, objective="exponential", class_weight={False: 1, True: 2}
            ).fit(x, two),
            gb.GPUBoostClassifier(
                **boosted, n_jobs=1, early_stopping_rounds=2, eval_metric=["merror", "mlogloss"]
            ).fit(x, y, **valid),
            gb.DecisionTreeClassifier(**nominal, n_jobs=1, ccp_alpha=np.float32(0.01)).fit(
                x, names
            ),
            gb.DecisionTreeRegressor(
                n_jobs=1, splitter="midpoint", max_depth=4, feature_probabilities=np.ones(4)
            ).fit(x, signal),
            gb.RandomForestClassifier(
                **forest, **nominal, n_jobs=1, oob_score=True, voting="hard"
            ).fit(x, both, weight),
            gb.RandomForestRegressor(
                **forest, n_jobs=1, oob_score=True, keep_targets=True, max_samples=0.8
            ).fit(x, signal, weight),
            gb.ExtraTreesClassifier(**forest, **nominal, n_jobs=1, random_state=np.int64(3)).fit(
                x, names.astype("U")
            ),
            gb.ExtraTreesRegressor(**forest, n_jobs=1, keep_targets=True).fit(
                x, np.stack([signal, -signal], axis=1)
            ),
            gb.AdaBoostClassifier(n_estimators=3, n_jobs=1, max_depth=2).fit(x, y.astype(np.uint8)),
            gb.AdaBoostRegressor(**nominal, n_estimators=3, n_jobs=1, max_depth=3).fit(x, signal),
        ]
    models[0].table_ = TableSchema("y", "regression", list("abcd"))
    return models, x


def file_of(model):
    """The bytes that a model is saved as."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_model(path := Path(folder, "model.gb"))
        return path.read_bytes()


# --- damage to the bytes


def damage_bytes(data, other, rng):
    """A file with some of its bytes changed; ``other`` is another file, to take pieces from."""
    data, n = bytearray(data), len(data)
    a, b = sorted(int(i) for i in rng.integers(0, n + 1, 2))
    short = min(b, a + int(rng.integers(1, 65)))
    kind = rng.integers(0, 9)
    if kind == 0:
        for i in rng.integers(0, n, rng.integers(1, 9)):
            data[i] ^= 1 << int(rng.integers(0, 8))
    elif kind == 1:
        del data[a:]
    elif kind == 2:
        data[a:a] = rng.bytes(int(rng.integers(1, 200)))
    elif kind == 3:
        del data[a:short]
    elif kind == 4:
        data[a:b] = other[a:b]
    elif kind == 5:
        data[a:short] = bytes(short - a)
    elif kind == 6:
        data[a:short] = rng.bytes(short - a)
    elif kind == 7:  # version or a size
        at, size = [(12, 4), (16, 8), (24, 8)][rng.integers(0, 3)]
        value = [
            0,
            1,
            2,
            n,
            2**31,
            2**32 - 1,
            2**63,
            2**64 - 1,
            int.from_bytes(data[at : at + size], "little") + 1,
        ][rng.integers(0, 9)]
        data[at : at + size] = (value % 256**size).to_bytes(size, "little")
    else:
        data += data[a:b]
    return bytes(data)


# --- damage behind the checksum


def parts_of(data):
    """Header as a dict with its list of arrays, and the bytes of the arrays."""
    header_size = PREAMBLE.unpack_from(data)[2]
    end = PREAMBLE.size + header_size
    return json.loads(data[PREAMBLE.size : end]), data[end + -end % ALIGNMENT :]


def content_of(data):
    """Header without its list of arrays, and the arrays by name."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return read_model(file)


def seal(text, arrays):
    """A file of this header and these arrays with sizes and a checksum that are right."""
    rest = text + bytes(-(PREAMBLE.size + len(text)) % ALIGNMENT) + arrays
    start = PREAMBLE.pack(MAGIC, VERSION, len(text), len(arrays), b"")[:-32]
    return start + _digest([start, rest]) + rest


def damage_header(data, rng):
    """Change one field of the header, anywhere in it."""
    if rng.random() < 0.02:
        return seal(BOMBS[rng.integers(0, len(BOMBS))], parts_of(data)[1])
    header, arrays = parts_of(data)
    where, key = pick_field(header, rng)
    kind = rng.integers(0, 6)
    if kind == 0:
        del where[key]
    elif kind == 1 and isinstance(where, dict):
        where[str(rng.integers(0, 100))] = copy.deepcopy(ODD[rng.integers(0, len(ODD))])
    elif kind == 1:
        where.insert(key, copy.deepcopy(where[key]))
    elif kind == 2 and type(where[key]) in (int, float) and math.isfinite(where[key]):
        where[key] += [-1, 1, 0.5, where[key]][rng.integers(0, 4)]
    elif kind == 3:  # what another field says
        other, name = pick_field(header, rng)
        where[key] = copy.deepcopy(other[name])
    else:
        where[key] = copy.deepcopy(ODD[rng.integers(0, len(ODD))])
    try:
        text = canonical_json(header)
    except ValueError:  # a sum has become infinite
        text = b"{}"
    return seal(text.replace(b",", b", ", 1) if rng.random() < 0.02 else text, arrays)


def pick_field(header, rng):
    """An object or list in the header, and one of its keys.

    Lists of arrays and parameters are long, so that depth is drawn first.
    """
    where, key = header, list(header)[rng.integers(0, len(header))]
    while isinstance(where[key], (dict, list)) and where[key] and rng.random() < 0.85:
        where = where[key]
        key = (
            list(where)[rng.integers(0, len(where))]
            if isinstance(where, dict)
            else int(rng.integers(0, len(where)))
        )
    return where, key


def damage_arrays(data, rng):
    """Change entries of an array; sometimes the array's dtype, shape or presence."""
    header, arrays = content_of(data)
    name = list(arrays)[rng.integers(0, len(arrays))]
    array = arrays[name].copy()
    kind = rng.integers(0, 8)
    if kind == 0:
        array = array[: len(array) - 1] if array.ndim else array
    elif kind == 1 and array.ndim:
        array = np.concatenate([array, array[-1:]])
    elif kind == 2 and array.dtype.kind in "iu":
        array = array.astype(["<f4", "<i8", "|u1", "|b1", "<U3"][rng.integers(0, 5)])
    elif array.size:
        flat = array.reshape(-1)
        for i in rng.integers(0, flat.size, rng.integers(1, 4)):
            with np.errstate(over="ignore"):  # of a float32, an infinite one
                flat[i] = odd_entry(flat, int(i), rng)
    if rng.random() < 0.03:
        del arrays[name]
        name = f"{name}/x"
    arrays[name] = array
    out = io.BytesIO()
    write_model(out, header, arrays)
    return out.getvalue()


def odd_entry(flat, i, rng):
    """Another value for an entry of an array."""
    if flat.dtype.kind == "f":
        own, last = float(flat[i]), float(flat[-1])
        values = [
            0.0,
            -0.0,
            math.nan,
            math.inf,
            -math.inf,
            1e308,
            5e-324,
            -1.0,
            0.5,
            own * 2.0,
            own + 1.0,
            last,
            rng.normal(),
        ]
        return values[rng.integers(0, len(values))]
    if flat.dtype.kind in "iu":
        limits = np.iinfo(flat.dtype)
        value = [
            0,
            -1,
            1,
            limits.max,
            limits.min,
            int(flat[i]) + 1,
            int(flat[i]) - 1,
            int(flat[-1]),
            len(flat),
            int(rng.integers(0, 100)),
        ]
        return min(max(value[rng.integers(0, 10)], limits.min), limits.max)
    if flat.dtype.kind == "b":
        return not flat[i]
    return flat[int(rng.integers(0, len(flat)))]


# --- the judgement


class Judge:
    """Loads files and says what came of them; raises AssertionError if that must not be."""

    def __init__(self, models, x, folder):
        self.x, self.path, self.again = x, Path(folder, "damaged.gb"), Path(folder, "again.gb")
        self.files = [file_of(model) for model in models]
        self.known = {
            data: (model.fingerprint(), predictions(model, x))
            for data, model in zip(self.files, models, strict=True)
        }
        self.counts, self.reasons, self.slowest = Counter(), Counter(), 0.0

    def damaged(self, number, rng):
        """The damaged file of this number."""
        data, other = (
            self.files[number % len(self.files)],
            self.files[int(rng.integers(0, len(self.files)))],
        )
        kind = ["bytes", "bytes", "header", "arrays"][number // len(self.files) % 4]
        return kind, {
            "bytes": lambda: damage_bytes(data, other, rng),
            "header": lambda: damage_header(data, rng),
        }.get(kind, lambda: damage_arrays(data, rng))()

    def check(self, number, seed):
        """Damage a file, load it, and look at the outcome."""
        rng = np.random.default_rng([seed, number])
        kind, data = self.damaged(number, rng)
        self.path.write_bytes(data)
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                warnings.simplefilter("ignore", UserWarning)  # parameters that were not stored
                model = gb.load_model(self.path)
        except gb.ModelFormatError as error:
            outcome = "refused"
            self.reasons[
                re.sub(r"\d+|'.*'", "...", str(error).split("cannot be loaded: ")[1])[:60]
            ] += 1
        else:
            outcome = self.accept(kind, data, model)
        self.slowest = max(self.slowest, time.perf_counter() - begin)
        self.counts[kind, outcome] += 1
        return kind, outcome

    def accept(self, kind, data, model):
        """A file that loads: the model it was.

        Or another valid one that is saved as the same bytes.
        """
        if data in self.known:
            fingerprint, expected = self.known[data]
            assert model.fingerprint() == fingerprint
            assert same(predictions(model, self.x), expected)
            return "unchanged"
        assert kind != "bytes", "the checksum has not seen a change"
        model.fingerprint()
        if model.n_features_in_ <= 1000:  # or there is no memory for the rows
            width = model.n_features_in_
            x = np.concatenate([self.x] * (width // self.x.shape[1] + 1), axis=1)[:, :width]
            for values in predictions(model, x):
                assert values.dtype.kind != "f" or np.isfinite(values).all(), (
                    "a prediction is not finite"
                )
        model.save_model(self.again)
        saved = self.again.read_bytes()
        if shape_of(data) == shape_of(saved):  # no fields that are unknown, or have their defaults
            assert saved == data, "the file changes by loading and saving"
            return "another model"
        gb.load_model(self.again).save_model(self.path)
        assert self.path.read_bytes() == saved, "the file changes by loading and saving twice"
        return "another model, less or more"


def shape_of(data):
    """Which fields a file has, and which parameters are only described."""

    def keys_of(value):
        if isinstance(value, list):
            return [keys_of(item) for item in value]
        return {key: keys_of(item) for key, item in value.items()} if isinstance(value, dict) else 0

    header, _ = parts_of(data)
    names = [(entry["name"], len(entry)) for entry in header["arrays"]]
    return keys_of(header), names, header["required"], header.get("not_stored")


def predictions(model, x):
    """Whatever a model predicts: for few rows and for many, which take different ways."""
    names = getattr(model, "feature_names_in_", [])
    # frames whose columns share a name are up to scikit-learn, which changes its mind about them
    if 0 < len(names) == len(set(names)):
        x = pd.DataFrame(x, columns=names)
    out = []
    for rows in (x, x[:3]):
        out.append(np.asarray(model.predict(rows)))
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(rows)
            out += shares if isinstance(shares, list) else [shares]
        if hasattr(model, "staged_predict"):
            out += list(model.staged_predict(rows))
        if getattr(model, "leaf_targets_", None) is not None:
            out.append(model.predict_quantiles(rows, [0.1, 0.5]))
        if hasattr(model, "apply"):
            out.append(model.apply(rows))
    return out


def same(some, others):
    """Bit-equal arrays; what object arrays hold is compared as it is."""
    content = [
        (a.dtype, a.tolist() if a.dtype == object else a.tobytes()) for a in (*some, *others)
    ]
    return content[: len(some)] == content[len(some) :]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=100_000, help="files")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first file, to see one of them again"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    models, x = make_models()
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder) as own:
        judge = Judge(models, x, own)
        for number in range(4 * len(models)):  # compile whatever is used before memory is limited
            judge.check(number, args.seed + 1)
        judge.counts.clear()
        judge.reasons.clear()
        judge.slowest = 0.0
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (256 << 20)
        # an allocation that a file of some KB does not justify is a MemoryError
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        begin = time.perf_counter()
        for number in range(args.first, args.first + args.n):
            try:
                judge.check(number, args.seed)
            except BaseException:
                print(f"file {number} with seed {args.seed}:", file=sys.stderr)
                raise
            if (number + 1) % 10_000 == 0:
                print(f"{number + 1} files, {time.perf_counter() - begin:.0f} s", flush=True)
        for (kind, outcome), n in sorted(judge.counts.items()):
            print(f"{kind:8}{outcome:15}{n:8}")
        print(f"{len(judge.reasons)} kinds of reasons, the most frequent:")
        for reason, n in judge.reasons.most_common(12):
            print(f"{n:8}  {reason}")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"slowest file {1000 * judge.slowest:.0f} ms, peak memory {peak:.0f} MiB, "
            f"{time.perf_counter() - begin:.0f} s in all"
        )


if __name__ == "__main__":
    main()
