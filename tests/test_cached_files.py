import pytest

from gpuboost.cached_files import cache_folder, keep, kept


def test_the_folder_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUBOOST_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder("a") == tmp_path / "own" / "a" and cache_folder("a").is_dir()
    monkeypatch.delenv("GPUBOOST_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("b") == tmp_path / "gpuboost" / "b"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder("c") == tmp_path / ".cache" / "gpuboost" / "c"


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(256)) * 100])
def test_what_is_kept_comes_back_unless_it_was_damaged(tmp_path, content):
    path = tmp_path / "file"
    assert kept(path) is None
    keep(path, content)
    assert kept(path) == content
    stored = path.read_bytes()
    for damaged in (stored[:-1], stored + b"x", b"", bytes([stored[0] ^ 1]) + stored[1:]):
        path.write_bytes(damaged)
        assert kept(path) is None
    keep(path, content)
    assert kept(path) == content
