"""A PTX text is compiled once, whatever architecture it was written for."""

from ptx_texts import kernel_text

from gpuboost.kernels.emulation.ptx.build import build, essential


def text(architecture, comment):
    head = f"// {comment}\n.version 8.{architecture % 8}\n.target sm_{architecture}\n"
    return head + ".address_size 64\n" + kernel_text("nothing", [], "ret; // done")


def test_texts_that_differ_in_their_target_alone_are_one_library(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUBOOST_CACHE_DIR", str(tmp_path))
    first = build(text(75, "one"))
    written = first.stat().st_mtime_ns
    assert build(text(90, "another")) == first
    assert first.stat().st_mtime_ns == written
    assert build(text(90, "x").replace("nothing", "other")) != first
    readable = first.with_suffix(".ptx").read_text()
    assert readable == essential(text(90, "another"))
    assert readable.count("\n") == text(90, "another").count("\n")  # lines keep their numbers
