#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Claim: `pinfold restore` restores a snapshot, dense or with holes, whole or by
slots, with any folios and threads, and what it saves is what it read; it says in
one line what is wrong, and exits 0, 1 or 2.

The binary is $PINFOLD, or pinfold in $PINFOLD_BUILD or build/.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PINFOLD_BUILD", os.path.join(ROOT, "build"))
PINFOLD = os.environ.get("PINFOLD", os.path.join(BUILD, "pinfold"))
SEED = int(os.environ.get("PINFOLD_SEED", str(int(time.time()))))
PAGE = 4096
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Folder:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="pinfold-test.")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def manifest(self, *slots):
        return self.write("manifest", json.dumps({"slots": slots}).encode())

    def snapshot(self, name, pages, data_pages):
        """A file with holes, its bytes."""
        path = self.path(name)
        rnd = random.Random(SEED)
        with open(path, "wb") as file:
            for page in data_pages:
                file.seek(page * PAGE)
                file.write(rnd.randbytes(PAGE))
            file.truncate(pages * PAGE)
        return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def restore(*args, **kwargs):
    return subprocess.run([PINFOLD, "restore", *args], text=True,
                          capture_output=True, timeout=60, check=False,
                          **kwargs)


def figures(*args):
    result = restore(*args, "--json", "-")
    assert result.returncode == 0, result.stderr
    assert "restored in" in result.stderr and "GiB/s" in result.stderr
    return json.loads(result.stdout)


def wrong(code, words, *args, **kwargs):
    result = restore(*args, **kwargs)
    assert result.returncode == code, (args, result.returncode, result.stderr)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("pinfold restore: "), lines[0]
    for word in words:
        assert word in lines[0], f"no {word!r} in {lines[0]!r}"


@test
def dense_and_sparse():
    rnd = random.Random(SEED)
    with Folder() as f:
        layouts = (range(3000), [0], [2999], range(0, 3000, 7), [],
                   [p for p in range(3000) if rnd.random() < 0.5],
                   [*range(100, 800), *range(1024, 1536)])
        for data in layouts:
            path = f.snapshot("a", 3000, data)
            for folio in rnd.sample(("4K", "64K", "2M"), 2):
                j = figures(path, "--folio", folio, "--threads",
                            str(rnd.randint(1, 4)), "--verify", "--save",
                            f.path("b"))
                assert j["bytes"] == 3000 * PAGE
                assert j["verified_pages"] == 3000
                assert len(data) * PAGE <= j["data_bytes"]
                assert read(path) == read(f.path("b"))
                # what is a hole stays one
                assert (os.stat(f.path("b")).st_blocks * 512 <=
                        os.stat(path).st_blocks * 512 + 64 * PAGE)
        assert sorted(os.listdir(f.folder)) == ["a", "b"]


@test
def text():
    with Folder() as f:
        path = f.snapshot("a", 300, range(100))
        result = restore(path, "--verify", "--threads", "2")
        assert result.returncode == 0 and not result.stderr, result.stderr
        lines = result.stdout.splitlines()
        assert lines[0] == f"{path}: 1.2 MiB in 1 slot, 0.4 MiB of data"
        assert lines[1].endswith("folios up to 2M, 2 threads"), lines[1]
        assert "x one memcpy (" in lines[1]
        assert lines[2].startswith("verified 300 pages in "), lines[2]


@test
def slots():
    with Folder() as f:
        path = f.snapshot("a", 2000, range(2000))
        manifest = f.manifest(
            {"name": "high", "file_offset": 1000 * PAGE, "size": 600 * PAGE,
             "guest_offset": 1 << 40},
            {"name": "low", "file_offset": 4 * PAGE, "size": 700 * PAGE,
             "guest_offset": 0})
        j = figures(path, "--manifest", manifest, "--verify", "--save",
                    f.path("b"))
        assert j["slots"] == 2 and j["bytes"] == 1300 * PAGE
        a, b = read(path), read(f.path("b"))
        assert len(a) == len(b)
        assert a[4 * PAGE:704 * PAGE] == b[4 * PAGE:704 * PAGE]
        assert a[1000 * PAGE:1600 * PAGE] == b[1000 * PAGE:1600 * PAGE]
        for start, end in ((0, 4), (704, 1000), (1600, 2000)):
            assert not any(b[start * PAGE:end * PAGE])
        # over the snapshot itself
        result = restore(path, "--save", path)
        assert result.returncode == 0 and read(path) == a, result.stderr


@test
def bad_manifest():
    good = {"file_offset": 0, "size": PAGE}
    with Folder() as f:
        path = f.snapshot("a", 10, range(10))
        for slot, *words in (
                ({"size": PAGE}, "slot 0", '"file_offset"'),
                ({"file_offset": 0}, "slot 0", '"size"'),
                ({**good, "size": 5}, "slot 0", '"size" 5', "4096"),
                ({**good, "size": 0}, "slot 0", "empty"),
                ({**good, "size": -PAGE}, "slot 0", '"size"'),
                ({**good, "size": "x"}, "slot 0", '"size"'),
                ({**good, "file_offset": 1}, '"file_offset" 1'),
                ({**good, "guest_offset": 1}, '"guest_offset" 1'),
                ({**good, "guest_offset": 2 ** 63 - PAGE}, "guest_offset"),
                ({**good, "size": 11 * PAGE}, "beyond the end", "45056"),
                ({**good, "file_offset": 2 ** 62}, "beyond the end"),
                ({**good, "name": 5}, '"name"'),
                ({**good, "offset": 5}, '"offset"'),
                (17, "slot 0 is no object")):
            wrong(1, [f.path("manifest"), *words], path, "--manifest",
                  f.manifest(slot))
        wrong(1, ["two slots have byte 0 of the file"], path, "--manifest",
              f.manifest(good, {**good, "guest_offset": PAGE}))
        wrong(1, ["two slots have byte 4096 of guest"], path, "--manifest",
              f.manifest({**good, "guest_offset": PAGE},
                         {"file_offset": PAGE, "size": PAGE}))
        for data in (b"", b"{", b"[]", b'{"slots": []}', b'{"slots": 3}',
                     b"\xff\xfe"):
            wrong(1, [f.path("m")], path, "--manifest", f.write("m", data))
        wrong(1, ["/no/such"], path, "--manifest", "/no/such")


@test
def bad_files():
    with Folder() as f:
        os.mkfifo(f.path("fifo"))
        wrong(1, [f.path("fifo"), "not a regular file"], f.path("fifo"))
        wrong(1, [f.folder, "directory"], f.folder)
        wrong(1, ["/dev/null", "not a regular file"], "/dev/null")
        wrong(1, ["/no/such", "No such file"], "/no/such")
        wrong(1, ["empty"], f.write("empty", b""))
        wrong(1, ["4097 bytes"], f.write("odd", bytes(PAGE + 1)))
        path = f.snapshot("a", 10, range(10))
        wrong(1, ["--save " + f.folder], path, "--save", f.folder)
        wrong(1, ["--save /no/such/file"], path, "--save", "/no/such/file")
        wrong(1, ["/dev/full"], path, "--save", "/dev/full")
        result = restore(path, "--json", "/no/such/file")
        assert result.returncode == 1 and "/no/such/file" in result.stderr
        # more than any host has
        with open(f.path("huge"), "wb") as file:
            file.truncate(1 << 40)
        result = restore(f.path("huge"))
        assert result.returncode == 0, result.stderr
        assert sorted(os.listdir(f.folder)) == ["a", "empty", "fifo", "huge",
                                                "odd"]


@test
def wrong_usage():
    wrong(2, ["a snapshot file is missing"])
    wrong(2, ["'b' is one argument too many"], "a", "b")
    for n in ("0", "17", "-1", "x", "1x", ""):
        wrong(2, [f"'{n}'"], "a", "--threads", n)
    for size in ("8K", "2m", "", "4096"):
        wrong(2, [f"'{size}'"], "a", "--folio", size)
    wrong(2, ["--nonsense"], "--nonsense")
    wrong(2, ["'--threads' needs a value"], "a", "--threads")
    wrong(2, ["takes no value"], "a", "--verify=1")
    result = restore("--help")
    assert result.returncode == 0 and not result.stderr
    assert result.stdout.startswith("Usage: pinfold restore SNAPSHOT")
    top = subprocess.run([PINFOLD, "--help"], text=True, capture_output=True,
                         check=True).stdout
    assert "\n  restore " in top


@test
def truncated_meanwhile():
    """One line, whichever part of it the truncation hits; or it was late."""
    with Folder() as f:
        hit = 0
        for wait in (0, 0.005, 0.01, 0.02, 0.05):
            path = f.snapshot("a", 10000, [])
            with open(path, "r+b") as file:
                file.write(os.urandom(10000 * PAGE))
            with subprocess.Popen([PINFOLD, "restore", path, "--verify"],
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as child:
                time.sleep(wait)
                os.truncate(path, 5 * PAGE)
                _, err = child.communicate(timeout=60)
            assert child.returncode in (0, 1), (child.returncode, err)
            assert child.returncode != -signal.SIGBUS
            if child.returncode:
                assert len(err.splitlines()) == 1, err
                hit += 1
        print(f"# truncated in time {hit} times of 5")


def main():
    bad = 0
    print(f"# PINFOLD_SEED={SEED}")
    print(f"1..{len(TESTS)}")
    for nr, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {nr} - {function.__name__}", flush=True)
        except Exception:
            bad = 1
            print(f"not ok {nr} - {function.__name__}")
            print("# " + traceback.format_exc().replace("\n", "\n# "),
                  flush=True)
    sys.exit(bad)


if __name__ == "__main__":
    main()
