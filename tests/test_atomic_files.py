"""A file is there or it is not, whatever happens while it is written."""

import os
import stat
import subprocess
import sys
import textwrap

import pytest
from saved_models import ROOT, fitted

from gpuboost.atomic_files import atomic_write
from gpuboost.model.file import MAGIC

# --- writing


def test_a_file_appears_all_at_once_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"new"
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error), atomic_write(path) as file:
            file.write(b"half")
            raise error
        assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "no folder" / "file"):
        pass
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    before = os.umask(0o027)
    try:
        with atomic_write(path) as file:
            file.write(b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    link.symlink_to("file")
    with atomic_write(link) as file:
        file.write(b"2")
    assert (
        link.is_symlink()
        and path.read_bytes() == b"2"
        and stat.S_IMODE(path.stat().st_mode) == 0o604
    )
    link.unlink()
    link.symlink_to("later")
    with atomic_write(link) as file:
        file.write(b"3")
    assert link.is_symlink() and (tmp_path / "later").read_bytes() == b"3"


def test_what_is_not_a_file_is_written_to_directly(tmp_path):
    """A device keeps being one, even for root; a full one is an error."""
    with pytest.raises(OSError, match="No space left"):
        fitted("boost").save_model("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    fitted("boost").save_model(pipe)
    assert reader.communicate(timeout=60)[0].startswith(MAGIC)


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """Files may not grow beyond 1000 bytes.

    The system says so in the middle of the writing, as it does when a disk is full.
    """
    path = tmp_path / "model.gb"
    fitted("boost").save_model(tmp_path / "new.gb")
    path.write_bytes(b"old")
    code = """
        import resource, signal, sys, gpuboost as gb
        model = gb.load_model(sys.argv[1] + "/new.gb")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            model.save_model(sys.argv[1] + "/model.gb")
        except OSError as error:
            print(error.strerror)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.strip() == "File too large"
    assert path.read_bytes() == b"old" and sorted(p.name for p in tmp_path.iterdir()) == [
        "model.gb",
        "new.gb",
    ]


def test_kill_during_saving_leaves_the_old_file_or_the_new_one(tmp_path):
    """Fifty processes that save two models in turn are killed in the middle of it.

    Children of one process, which has imported all.
    """
    fitted("boost").save_model(tmp_path / "a.gb")
    fitted("forest with targets").save_model(tmp_path / "b.gb")
    code = """
        import os, random, signal, sys, time
        import gpuboost as gb
        folder, random = sys.argv[1], random.Random(0)
        models = [gb.load_model(folder + "/a.gb"), gb.load_model(folder + "/b.gb")]
        begin = time.perf_counter()
        models[0].save_model(folder + "/model.gb")
        seconds = time.perf_counter() - begin
        for _ in range(50):
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                while True:
                    for model in reversed(models):
                        model.save_model(folder + "/model.gb")
                        os.write(writer, b"saved")
            for _ in range(random.randrange(3)):
                os.read(reader, 5)
            time.sleep(random.uniform(0.0, seconds))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            os.close(writer)
            print(gb.load_model(folder + "/model.gb").fingerprint())
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    seen = done.stdout.split()
    assert len(seen) == 50 and set(seen) == {
        fitted("boost").fingerprint(),
        fitted("forest with targets").fingerprint(),
    }
    assert list(tmp_path.glob(".gpuboost-*.tmp")), "nobody was killed in the middle of saving"
