#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Claim: `pinfold gup_test`, and gup_test by itself, print byte for byte what
Linux's gup_test prints for the same options, but for the times.

The binaries are $PINFOLD, or pinfold in $PINFOLD_BUILD or build/, and gup_test
beside it.
"""
import itertools
import os
import re
import subprocess
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PINFOLD_BUILD", os.path.join(ROOT, "build"))
PINFOLD = os.environ.get("PINFOLD", os.path.join(BUILD, "pinfold"))
GUP_TEST = os.path.join(os.path.dirname(PINFOLD), "gup_test")
TESTS = []

TIMES = re.compile(rb"get:\d+ put:\d+ us")
MEMORY = re.compile(rb"has \d+ MiB")
TOTALS = (b"# Totals: pass:%d fail:%d xfail:0 xpass:0 skip:0 error:0\n")
TIMED = {
    "-u": b"GUP_FAST_BENCHMARK", "-a": b"PIN_FAST_BENCHMARK",
    "-l": b"PIN_FAST_LONGTERM_BENCHMARK", "-L": b"PIN_LONGTERM_BENCHMARK",
}
UNTIMED = {
    "-U": b"GUP_BASIC_TEST", "-b": b"PIN_BASIC_TEST",
    "-c": b"DUMP_USER_PAGES_TEST",
}


def test(function):
    TESTS.append(function)
    return function


def call(command, args, **env):
    clean = {k: v for k, v in os.environ.items() if k != "KSFT_TAP_LEVEL"}
    return subprocess.run([*command, *args.split()], capture_output=True,
                          check=False, env=dict(clean, **env))


def gup_test(args, **env):
    """What both forms print, which is the same, with the times masked."""
    results = [call(command, args, **env)
               for command in ([PINFOLD, "gup_test"], [GUP_TEST])]
    outputs = [TIMES.sub(b"get:G put:P us", r.stdout) for r in results]
    outputs = [MEMORY.sub(b"has N MiB", output) for output in outputs]
    # -j: whose turn it is may differ, so only for the others
    if "-j" not in args:
        assert outputs[0] == outputs[1], (args, outputs)
    assert results[0].returncode == results[1].returncode, results
    return results[0], outputs[0]


def timed(name, size=None):
    truncated = b"" if size is None else b"# , truncated (size: %d)" % size
    return b"# " + name + b": Time: get:G put:P us" + truncated + b"# \n"


def untimed(name, size=None):
    truncated = b"" if size is None else b"# Truncated (size: %d)\n" % size
    return b"# " + name + b": done\n" + truncated


def prints(args, *messages, stderr=b""):
    """One thread that succeeds."""
    result, output = gup_test(args)
    assert output == (b"TAP version 13\n1..1\n" + b"".join(messages) +
                      b"ok 1 ioctl status 0\n" + TOTALS % (1, 0)), \
        (args, output)
    assert result.returncode == 0, result
    if stderr is not None:
        assert result.stderr == stderr, (args, result.stderr)
    return result


def bails_out(args, reason, begun=False):
    """@reason is the text, or None for one that is only to be a line."""
    result, output = gup_test(args)
    lines = output.splitlines(keepends=True)
    if begun:
        assert lines[:2] == [b"TAP version 13\n", b"1..1\n"], output
        assert lines[3] == b"# Planned tests != run tests (1 != 0)\n", output
        lines = lines[2:3] + lines[4:]
    assert len(lines) == 2, output
    assert lines[0].startswith(b"Bail out! "), output
    if reason is not None:
        assert lines[0] == b"Bail out! " + reason + b"\n", (args, output)
    assert lines[1] == TOTALS % (0, 0), output
    assert result.returncode == 1, result
    return result


@test
def the_default():
    prints("", timed(b"GUP_FAST_BENCHMARK"))


@test
def every_timed_command():
    for option, name in TIMED.items():
        prints(f"{option} -m 2", timed(name))
        prints(f"{option} -m 2 -r 3", *[timed(name)] * 3)


@test
def every_untimed_command():
    for option, name in UNTIMED.items():
        prints(f"{option} -m 2", untimed(name), stderr=None)
        prints(f"{option} -m 2 -r 3", untimed(name), stderr=None)


@test
def the_last_command_counts():
    prints("-m 2 -L -U -a", timed(b"PIN_FAST_BENCHMARK"))
    prints("-m 2 -a -l", timed(b"PIN_FAST_LONGTERM_BENCHMARK"))
    # with the flag of -l this one would get nothing
    prints("-m 2 -l -u", timed(b"GUP_FAST_BENCHMARK"))


@test
def truncated():
    # get_* calls do not take FOLL_LONGTERM, pin_* calls not FOLL_GET
    for option, flags in (("-u", "0x100"), ("-a", "2"), ("-l", "02"),
                          ("-L", "0x2")):
        prints(f"{option} -m 2 -F {flags}", timed(TIMED[option], 0))
    for option, flags in (("-U", "0x100"), ("-c", "256"), ("-b", "0x2")):
        prints(f"{option} -m 2 -F {flags}", untimed(UNTIMED[option], 0),
               stderr=None)
    prints("-u -m 2 -r 2 -F 0x100", *[timed(b"GUP_FAST_BENCHMARK", 0)] * 2)


@test
def no_fault_first():
    for option, name in TIMED.items():
        prints(f"{option} -m 2 -z", timed(name))
    for option, name in UNTIMED.items():
        prints(f"{option} -m 2 -z", untimed(name), stderr=None)
    # FOLL_NOFAULT: nothing is there to get, and there is without -z
    prints("-u -m 2 -z -F 0x20", timed(b"GUP_FAST_BENCHMARK", 0))
    prints("-u -m 2 -F 0x20", timed(b"GUP_FAST_BENCHMARK"))
    prints("-u -m 2 -W -F 0x20", timed(b"GUP_FAST_BENCHMARK"))


@test
def flags():
    # -w adds FOLL_WRITE behind -F wherever it stands
    prints("-u -m 2 -w -F 0x0", timed(b"GUP_FAST_BENCHMARK"))
    prints("-U -m 2 -W -F 0x1008", untimed(b"GUP_BASIC_TEST"))


@test
def no_repetition():
    prints("-r 0")
    prints("-U -m 2 -r 0", untimed(b"GUP_BASIC_TEST"))


@test
def dump():
    def pages(result):
        text = result.stderr.decode()
        assert text.count(" refcount ") == text.count(" pincount ") == \
            text.count("  flags: ") == text.count("gup_test: page "), text
        return [int(n) for n in re.findall(r"gup_test: page (\d+) of .*"
                                           r", frame \d+", text)]

    done = untimed(b"DUMP_USER_PAGES_TEST")
    assert pages(prints("-c -m 2", done, stderr=None)) == [0]
    # what the runner of the kernel's tests calls
    assert pages(prints("-ct -F 0x1 0 19 0x1000", done, stderr=None)) == \
        [0, 19, 4096]
    assert pages(prints("-c -m 2 7 010", done, stderr=None)) == [7, 8]
    assert pages(prints("-c -m 2 9 8 7 6 5 4 3 2 1 x", done,
                        stderr=None)) == [9, 8, 7, 6, 5, 4, 3, 2]
    got = prints("-c -m 1 -T -p 3", done, stderr=None).stderr.decode()
    put = prints("-c -m 1 -T 3", done, stderr=None).stderr.decode()
    counts = [int(re.search(r"refcount (\d+)", s)[1]) for s in (put, got)]
    assert counts[1] == counts[0] - 1 + 1024, counts


@test
def dump_out_of_range():
    result, output = gup_test("-c -m 1 255 256")
    assert output.startswith(b"TAP version 13\n1..1\n"), output
    text = result.stderr.decode()
    assert "page 255 of the range" in text, text
    assert "page 256 is not among the 256 that were got" in text, text
    assert "page 256 of the range" not in text, text


@test
def hugetlb():
    for option, name in TIMED.items():
        prints(f"{option} -H -m 8 -n 512", timed(name))
    # the last page of a pool of exactly four is half unused
    prints("-L -H -m 7 -n 123", timed(b"PIN_LONGTERM_BENCHMARK"))
    prints("-L -H -m 7 -t -z", timed(b"PIN_LONGTERM_BENCHMARK"))
    prints("-L -H -m 8 --pool 4", timed(b"PIN_LONGTERM_BENCHMARK"))
    bails_out("-L -H -m 8 --pool 3", b"mmap: Cannot allocate memory", True)
    bails_out("-L -H -m 8 --pool 0", b"mmap: Cannot allocate memory", True)


@test
def threads():
    for option, name in TIMED.items():
        result, output = gup_test(f"{option} -j 2 -m 8 -r 2 -n 16")
        assert result.returncode == 0 and result.stderr == b"", result
        lines = output.splitlines(keepends=True)
        assert lines[:2] == [b"TAP version 13\n", b"1..2\n"], output
        assert sorted(lines[2:-1]) == [timed(name)] * 4 + [
            b"ok 1 ioctl status 0\n", b"ok 2 ioctl status 0\n"], output
        assert lines[-2] == b"ok 2 ioctl status 0\n", output
        assert lines[-1] == TOTALS % (2, 0), output
    for option, name in UNTIMED.items():
        result, output = gup_test(f"{option} -j 8 -m 4 -z")
        assert output.count(b"# " + name + b": done\n") == 8, output
        assert output.count(b"ioctl status 0\n") == 8, output
        assert output.endswith(TOTALS % (8, 0)), output
    result, output = gup_test("-j 0")
    assert output == b"TAP version 13\n1..0\n" + TOTALS % (0, 0), output


@test
def within_another_test():
    _, output = gup_test("-m 2", KSFT_TAP_LEVEL="1")
    assert output.startswith(b"1..1\n# GUP_FAST"), output
    _, output = gup_test("-m 2", KSFT_TAP_LEVEL="")
    assert output.startswith(b"1..1\n# GUP_FAST"), output


@test
def wrong_arguments():
    for args in ("-q", "-h", "-m", "--nope", "-u -x", "-F", "-u --pool"):
        result = bails_out(args, b"Wrong argument")
        # getopt says which
        assert result.stderr.count(b"\n") == 1, result


@test
def wrong_numbers():
    for option, lo, hi in (("-m", 0, 2147483647), ("-r", 0, 2147483647),
                           ("-n", 1, 2147483647), ("-j", 0, 1024),
                           ("-F", 0, 4294967295), ("--pool", 0, 2147483647)):
        for value in ("x", "-1", "+1", "1x", "0x", "1.5",
                      "99999999999999999999", str(hi + 1)):
            reason = f"{option} takes {lo} to {hi}, not '{value}'"
            result = bails_out(f"{option} {value}", reason.encode())
            assert result.stderr == b"", result
    bails_out("-n 0", b"-n takes 1 to 2147483647, not '0'")
    bails_out("-F 09", b"-F takes 0 to 4294967295, not '09'")
    for value in ("x", "4294967295", "0x1g"):
        bails_out(f"-c 0 {value}",
                  f"a page takes 0 to 4294967294, not '{value}'".encode())
    result = subprocess.run([GUP_TEST, "-m", ""], capture_output=True,
                            check=False)
    assert result.stdout.startswith(b"Bail out! -m takes"), result
    result = subprocess.run([GUP_TEST, "-m", "1\n2"], capture_output=True,
                            check=False)
    assert result.stdout.count(b"\n") == 2, result


@test
def shared_memory():
    for args in ("-S -m 4", "-S -m 4 -t", "-f /dev/zero -m 4",
                 "-S -f /dev/zero -m 4 -W"):
        for option, name in TIMED.items():
            prints(f"{args} {option}", timed(name))
        prints(f"{args} -b", untimed(b"PIN_BASIC_TEST"))
    # not written first: the fast forms and the slow ones fault it in
    prints("-S -z -m 4 -a", timed(b"PIN_FAST_BENCHMARK"))
    # huge pages have no file
    prints("-H -f /no/such/directory/file -m 4", timed(b"GUP_FAST_BENCHMARK"))
    # but may be shared
    for option, name in TIMED.items():
        prints(f"-S -H -m 4 {option}", timed(name))
        prints(f"-S -H -z -m 4 -W {option}", timed(name))
    prints("-S -H -m 4 -b -n 600", untimed(b"PIN_BASIC_TEST"))
    bails_out("-S -H -m 8 --pool 3", b"mmap: Cannot allocate memory", True)


@test
def files():
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(4 << 20)
        for kind in ("", "-S "):
            args = f"{kind}-f {file.name} -m 4"
            prints(f"{args} -u", timed(b"GUP_FAST_BENCHMARK"))
            prints(f"{args} -a -n 64", timed(b"PIN_FAST_BENCHMARK"))
        # stores to the shared file would not be heard of
        for option in ("-l", "-L"):
            prints(f"-S -f {file.name} -m 4 {option}", timed(TIMED[option], 0))
            prints(f"-S -f {file.name} -m 4 -W {option}",
                   timed(TIMED[option]))
            prints(f"-f {file.name} -m 4 {option}", timed(TIMED[option]))
        assert os.stat(file.name).st_size == 4 << 20
        # the end of the file is not memory
        bails_out(f"-f {file.name} -m 5", b"the buffer cannot be written: "
                  b"page 1024 is above the file's 4194304 bytes: Bad address", True)
    with tempfile.TemporaryDirectory() as folder:
        bails_out(f"-f {folder}", None, True)
        bails_out(f"-f {folder}/no/file", None, True)
        bails_out(f"-f {folder}/new -m 4", b"the buffer cannot be written: "
                  b"page 0 is above the file's 0 bytes: Bad address",
                  True)
        assert os.stat(f"{folder}/new").st_size == 0
    bails_out("-f /dev/null", b"-f /dev/null: not a regular file open for what "
              b"it is to be used for: No such device", True)


@test
def no_room():
    bails_out("-m 0", b"mmap: Invalid argument", True)
    bails_out("-m 2147483647", None, True)
    bails_out("-H -m 2147483647", None, True)


@test
def large_buffers():
    """The machine keeps no bytes of them."""
    for args in ("-HL -m 8192 -n 512", "-LT -m 8192 -n 512"):
        prints(args, timed(b"PIN_LONGTERM_BENCHMARK"))


@test
def the_runners_matrix():
    for kind, option, write, nr in itertools.product(
            ("-t -m 8", "-T -m 8", "-H -m 8"), ("-u", "-U", "-a", "-b", "-L"),
            ("-w", "-W"), ("-n 1", "-n 512", "-n 123")):
        message = timed(TIMED[option]) if option in TIMED else \
            untimed(UNTIMED[option])
        prints(f"{kind} {option} {write} {nr}", message)


@test
def help_text():
    for command in ([PINFOLD, "gup_test"], [GUP_TEST]):
        result = call(command, "--help")
        assert result.returncode == 0 and result.stderr == b"", result
        text = result.stdout.decode()
        assert text.startswith("Usage: gup_test "), text
        assert max(map(len, text.splitlines())) <= 80, text
        for letter in "mrnFfabcjptTlLUuwWSHz":
            assert f"-{letter}" in text, letter
    assert "gup_test" in call([PINFOLD], "--help").stdout.decode()


@test
def output_that_cannot_be_written():
    for command in ([PINFOLD, "gup_test"], [GUP_TEST]):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([*command, "-m", "2"], stdout=full,
                                    stderr=subprocess.PIPE, check=False)
        assert result.returncode == 1, result
        assert b"standard output" in result.stderr, result


def main():
    print(f"1..{len(TESTS)}")
    for number, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {number} {function.__name__}", flush=True)
        except Exception:       # pylint: disable=broad-except
            traceback.print_exc()
            print(f"not ok {number} {function.__name__}", flush=True)


main()
