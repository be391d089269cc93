"""Records as C structs."""

import re

import numpy as np
import pytest

from gpuboost.kernels.cuda.records import STRUCTS, c_structs


def test_inner_structs_stand_before_those_that_hold_them():
    text, known = c_structs(), set()
    for name, body in re.findall(r"struct (\w+) \{\n(.*?)\};", text, re.DOTALL):
        for kind in re.findall(r"^    ([\w ]+) \w+;", body, re.MULTILINE):
            assert kind in known or not kind[0].isupper(), (name, kind)
        known.add(name)
    assert known == set(STRUCTS)


@pytest.mark.parametrize("name", STRUCTS)
def test_a_struct_has_the_fields_and_the_size_of_its_record(name):
    body = re.search(rf"struct {name} \{{\n(.*?)\}};", c_structs(), re.DOTALL)[1]
    assert re.findall(r"(\w+);", body) == list(STRUCTS[name].names)
    assert f"sizeof({name}) == {np.dtype(STRUCTS[name]).itemsize}" in c_structs()
