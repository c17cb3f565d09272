#!/usr/bin/env python3
"""Instructions of one send and one receive whose message is already there, by layer (callgrind).

instructions.py BUILD [--size BYTES] [--window N] [--transport shm|uv|mixed] [--mpi mpich|openmpi] [--top N] [--keep DIRECTORY]
                [--no-checkpoints] [--no-digest] [--total] [PROTOCOL[=CLUSTERS] | mpich | openmpi]...

BUILD is a build directory with debugging information (-Ddebug=true): callgrind needs it to tell files apart.
Each row is a run of two processes. A window of messages is sent while nobody receives, then received while
nobody sends; --window 1, the default, is a ping-pong. (A window larger than a transport takes from a sender
while its receiver does not look, some 4 KiB, would wait for ever, and so would determinants that wait for an answer.) The same build gives the same counts on every machine.
--mpi: the same program as an MPI program, with hark as the MPI library. --top: also the N files with the most.
--no-checkpoints: the log and the
protocol's state grow all the time, which is counted too; but nothing depends on when an image is durable.
--no-digest: of protocols that compare what is sent again. --total: one number a line, of one row each, and no table; this
needs no debugging information. --keep: puts callgrind's files there, for callgrind_annotate.
"""
import argparse, os, pathlib, re, shutil, subprocess, sys, tempfile

MESSAGES = 1000
ROWS = ["none", "coordinated", "sendet", "hydee", "scmel", "team", "camel"]
COLUMNS = ["process", "driver", "core", "log", "transport", "libraries"]
# By the file that a line stands in, also where the compiler has put it into another function. The first that fits.
LAYERS = [("log", r"payload_log|src/store/log"), ("core", r"include/hark/"), ("driver", r"src/driver/|src/core"), ("transport", r"transports/"),
          ("process", r"src/process/|src/app|src/mpi/|bench/")]


def counts(path):
    """Self cost by file of a callgrind output."""
    names, of, at = {}, {}, None
    called = False
    for line in open(path, errors="replace"):
        match = re.match(r"(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?", line)
        if match:
            kind, number, name = match.groups()
            if name: names[number] = name.strip()
            if not kind.startswith("c"): at = names[number]
        elif line.startswith("calls="): called = True  # the next line is the callee's cost
        elif re.match(r"[+*0-9-]", line) and at:
            if called: called = False
            else:
                words = line.split()
                if len(words) > 1: of[at] = of.get(at, 0) + int(words[1])
    return of


def layer(name):
    if name.startswith("./"): return "libraries"  # as they name their own files
    for word, pattern in LAYERS:
        if re.search(pattern, name): return word
    return "libraries"


def run(build, row, size=8, window=1, mpi=None, top=0, keep=None, interval="0", transport="shm", digest=True):
    """Instructions of a message by layer. Ends the command if the row cannot be run."""
    protocol, _, clusters = row.partition("=")
    count = max(20, MESSAGES // window)
    work = tempfile.mkdtemp(prefix="hark-instructions-")
    try:
        tool = ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured_send",
                "--toggle-collect=measured_receive", f"--callgrind-out-file={work}/out.%p"]
        arguments = [work, str(size), str(count), str(window)]
        if protocol in ("mpich", "openmpi"):
            start = ["mpiexec." + protocol, "-n", "2"] if protocol == "mpich" else \
                ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
            program = [f"{work}/program"]
            subprocess.run(["mpicc." + protocol, "-O2", "-g", "-DMPI", "-o", program[0],
                            str(pathlib.Path(__file__).parent / "instructions.c")], check=True)
        else:
            options = ["--protocol", protocol, "--transport", transport, "--interval", interval, "--store", f"{work}/store"]
            # When an image is written behind the program, counts depend on when. Builds before 2026-11-29 always wait for it.
            if interval != "0" and "--wait-for-checkpoints" in subprocess.run(
                    [f"{build}/src/cli/hark", "run", "--help"], capture_output=True, text=True).stdout:
                options.append("--wait-for-checkpoints")
            if not digest: options.append("--no-digest")
            if protocol in ("hydee", "sendet", "team", "camel"): options += ["--clusters", clusters or "2"]
            start = [f"{build}/src/cli/hark", "run", "-n", "2"] + options
            program = [f"{build}/bench/instructions"]
            if mpi:
                program = [f"{work}/program"]
                subprocess.run(["mpicc." + mpi, "-O2", "-g", "-DMPI", "-o", program[0],
                                str(pathlib.Path(__file__).parent / "instructions.c")], check=True)
            start += ["--"]
        plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")} # meson test has it fill memory
        done = subprocess.run(start + tool + program + arguments, env=plain, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode: sys.exit(f"instructions.py: {row}: status {done.returncode}\n{done.stdout[-2000:]}")
        files = {}
        for out in pathlib.Path(work).glob("out.*"):
            for name, cost in counts(out).items(): files[name] = files.get(name, 0) + cost
        if top:
            for name, cost in sorted(files.items(), key=lambda pair: -pair[1])[:top]:
                print(f"    {cost / (2 * count * window):8.1f}  {name}", file=sys.stderr)
        if keep:
            for i, out in enumerate(sorted(pathlib.Path(work).glob("out.*"))):
                shutil.copy(out, pathlib.Path(keep) / f"callgrind.{protocol}.{i}")
        layers = {}
        for name, cost in files.items(): layers[layer(name)] = layers.get(layer(name), 0) + cost / (2 * count * window)
        return layers
    finally: shutil.rmtree(work)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--window", type=int, default=1)
    parser.add_argument("--transport", choices=["shm", "uv", "mixed"], default="shm")
    parser.add_argument("--mpi", choices=["mpich", "openmpi"])
    parser.add_argument("--top", type=int, default=0)
    parser.add_argument("--keep")
    parser.add_argument("--no-checkpoints", action="store_true")
    parser.add_argument("--no-digest", action="store_true")
    parser.add_argument("--total", action="store_true")
    parser.add_argument("rows", nargs="*", default=[])
    given = parser.parse_intermixed_args()
    if not shutil.which("valgrind"): sys.exit("instructions.py: valgrind is not installed")
    rows = given.rows or ROWS + ["mpich", "openmpi"]
    if not given.total:
        print(f"| {given.size} B, window {given.window} | instructions | " + " | ".join(COLUMNS) + " |")
        print("|-|" + "-:|" * (1 + len(COLUMNS)))
    for row in rows:
        layers = run(given.build, row, given.size, given.window, given.mpi, given.top, given.keep,
                     "0" if given.no_checkpoints else "1ms", given.transport, not given.no_digest)
        total = sum(layers.values())
        if given.total: print(f"{total:.0f}", flush=True)
        else: print(f"| {row} | {total:.0f} | " + " | ".join(f"{layers.get(name, 0):.0f}" for name in COLUMNS) + " |", flush=True)


if __name__ == "__main__": main()
