#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Claim: `pinfold capture` writes a whole layout or none, says in one line what
is wrong, and exits 0, 1 or 2 for ok, failed and wrong usage; so does `pinfold`
itself.

The binary is $PINFOLD, or pinfold in $PINFOLD_BUILD or build/.
"""
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PINFOLD_BUILD", os.path.join(ROOT, "build"))
PINFOLD = os.environ.get("PINFOLD", os.path.join(BUILD, "pinfold"))
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Sleeper:
    """A process to capture, and a folder to write to."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="pinfold-test.")
        self.child = subprocess.Popen(["sleep", "600"])
        # before exec the child is a copy of this process; then it starts up
        while self.stat()[:2] != ["(sleep)", "S"]:
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        shutil.rmtree(self.folder)

    def stat(self):
        """Name and state of the child, and more."""
        with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as file:
            return file.read().split()[1:]

    def path(self, name):
        return os.path.join(self.folder, name)

    @property
    def pid(self):
        return str(self.child.pid)


def pinfold(*args, **kwargs):
    kwargs.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([PINFOLD, *args], stderr=subprocess.PIPE, text=True,
                          timeout=60, check=False, **kwargs)


def check_error(result, code, *words):
    assert result.returncode == code, (result.returncode, result.stderr)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("pinfold"), lines[0]
    for word in words:
        assert word in lines[0], f"no {word!r} in {lines[0]!r}"


def check_layout(text):
    """The parsed lines of a layout; its runs cover its VMAs."""
    assert text.endswith("\n")
    lines = [json.loads(line) for line in text.splitlines()]
    header, vmas = lines[0], lines[1:]
    assert list(header) == ["pinfold_layout", "source", "page_size",
                            "orders_known", "nr_vmas"], header
    assert header["pinfold_layout"] == 1 and header["page_size"] == 4096
    assert header["nr_vmas"] == len(vmas)
    end = 0
    for vma in vmas:
        assert list(vma) == ["start", "end", "perms", "file", "name",
                             "runs"], vma
        start = int(vma["start"], 16)
        assert start >= end
        end = int(vma["end"], 16)
        assert sum(run[0] for run in vma["runs"]) * 4096 == end - start
    return header, vmas


@test
def file_and_stdout():
    with Sleeper() as s:
        result = pinfold("capture", s.pid, "-o", s.path("a"))
        assert result.returncode == 0, result.stderr
        assert result.stdout == ""
        assert os.listdir(s.folder) == ["a"]
        with open(s.path("a"), encoding="ascii") as file:
            text = file.read()
        header, vmas = check_layout(text)
        assert header["source"] == f"sleep (process {s.pid})"
        names = [vma["name"] for vma in vmas]
        assert "sleep" in names and "[stack]" in names, names
        assert f"sleep (process {s.pid}): {len(vmas)} VMAs, " in result.stderr
        assert ("known" if header["orders_known"] else "assumed 4K") in \
            result.stderr
        result = pinfold("capture", "-o", "-", s.pid)
        assert result.returncode == 0, result.stderr
        again = check_layout(result.stdout)[1]
        assert [(vma["start"], vma["end"], vma["perms"]) for vma in again] == \
            [(vma["start"], vma["end"], vma["perms"]) for vma in vmas]
        assert len(result.stderr.splitlines()) == 1


@test
def mode_follows_the_umask():
    with Sleeper() as s:
        result = pinfold("capture", s.pid, "-o", s.path("a"), umask=0o027)
        assert result.returncode == 0, result.stderr
        assert stat.S_IMODE(os.stat(s.path("a")).st_mode) == 0o640


@test
def no_names():
    with Sleeper() as s:
        result = pinfold("capture", "--no-names", s.pid, "-o", "-")
        assert result.returncode == 0, result.stderr
        header, vmas = check_layout(result.stdout)
        assert header["source"] == "process"
        names = {vma["name"] for vma in vmas}
        assert all(not name or name.startswith("[") for name in names), names
        assert "[stack]" in names


@test
def replaces_what_a_link_points_to():
    with Sleeper() as s:
        with open(s.path("a"), "w", encoding="ascii") as file:
            file.write("old")
        os.symlink("a", s.path("link"))
        result = pinfold("capture", s.pid, "-o", s.path("link"))
        assert result.returncode == 0, result.stderr
        assert os.path.islink(s.path("link"))
        with open(s.path("a"), encoding="ascii") as file:
            check_layout(file.read())
        assert sorted(os.listdir(s.folder)) == ["a", "link"]


@test
def devices_stay_devices():
    with Sleeper() as s:
        result = pinfold("capture", s.pid, "-o", "/dev/null")
        assert result.returncode == 0, result.stderr
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@test
def process_that_is_gone():
    with Sleeper() as s:
        child = subprocess.Popen(["true"])
        child.wait()
        check_error(pinfold("capture", str(child.pid), "-o", s.path("a")), 1,
                    f"no process {child.pid}")
        check_error(pinfold("capture", "2147483647", "-o", s.path("a")), 1,
                    "no process 2147483647")
        assert os.listdir(s.folder) == []


@test
def unwritable_file():
    with Sleeper() as s:
        path = s.path("none/a")
        check_error(pinfold("capture", s.pid, "-o", path), 1, path,
                    "No such file")
        check_error(pinfold("capture", s.pid, "-o", s.folder), 1, s.folder,
                    "Is a directory")
        check_error(pinfold("capture", s.pid, "-o", "/dev/full"), 1,
                    "/dev/full", "No space left")
        assert os.listdir(s.folder) == []


@test
def full_file_leaves_the_old_one():
    """A file size limit makes the write fail half way."""
    with Sleeper() as s:
        with open(s.path("a"), "w", encoding="ascii") as file:
            file.write("old")
        result = subprocess.run(
            ["sh", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "sh",
             PINFOLD, "capture", s.pid, "-o", s.path("a")],
            stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        check_error(result, 1, s.path("a"), "File too large")
        assert os.listdir(s.folder) == ["a"]
        with open(s.path("a"), encoding="ascii") as file:
            assert file.read() == "old"


@test
def standard_output_full_or_closed():
    with Sleeper() as s:
        with open("/dev/full", "w", encoding="ascii") as full:
            check_error(pinfold("capture", s.pid, "-o", "-", stdout=full), 1,
                        "standard output", "No space left")
            check_error(pinfold("--help", stdout=full), 1, "standard output",
                        "No space left")
        for args in (["capture", s.pid, "-o", "-"], ["capture", "--help"],
                     ["--version"]):
            result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh",
                                     PINFOLD, *args], stderr=subprocess.PIPE,
                                    text=True, timeout=60, check=False)
            check_error(result, 1, "standard output", "Bad file descriptor")


@test
def wrong_usage():
    for args, word in (
            ([], "process id is missing"),
            (["1"], "-o FILE is missing"),
            (["1", "-o", ""], "-o FILE is missing"),
            (["1", "-o"], "'-o' needs a value"),
            (["1", "--output"], "'--output' needs a value"),
            (["0", "-o", "x"], "'0' is not a process id"),
            (["-5", "-o", "x"], "'-5'"),
            (["--", "-5", "-o", "x"], "'-5' is not a process id"),
            (["abc", "-o", "x"], "'abc' is not a process id"),
            (["12x", "-o", "x"], "'12x' is not a process id"),
            (["", "-o", "x"], "'' is not a process id"),
            (["99999999999999999999", "-o", "x"], "'99999999999999999999'"),
            (["1", "2", "-o", "x"], "'2' is one argument too many"),
            (["--nonsense", "1"], "'--nonsense'"),
            (["--no-names=1", "1"], "takes no value"),
            (["-z", "1"], "'-z'")):
        check_error(pinfold("capture", *args), 2, "pinfold capture: ", word)
    assert not os.path.exists("x")


@test
def command_itself():
    check_error(pinfold(), 2, "subcommand is missing")
    check_error(pinfold("nonsense"), 2, "no subcommand 'nonsense'")
    check_error(pinfold("--nonsense"), 2, "no option '--nonsense'")
    check_error(pinfold("a\nb"), 2, "no subcommand 'a?b'")
    for args in (["--help"], ["capture", "--help"], ["--version"]):
        result = pinfold(*args)
        assert result.returncode == 0 and not result.stderr, args
        assert "pinfold" in result.stdout
    assert "\n  capture " in pinfold("--help").stdout


def main():
    bad = 0
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
