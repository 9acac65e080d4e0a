#!/usr/bin/env python3
"""Times the tile layer's matrix product against OpenBLAS's sgemm on the same cores.

Compiles gemm-cpu.c as exported programs are compiled, and runs it a shape at a time with OpenBLAS
free to choose its kernel and block sizes (its environment variables are unset). A shape fails where
the product is wrong or the rate is under --least of OpenBLAS's. Skipped without OpenBLAS.

usage: gemm-cpu.py [--least SHARE] [--json]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = ((1024, 1024, 1024), (1000, 3000, 700), (64, 4096, 2048), (2048, 2048, 2048))


def main():
    """Prints a line a shape and the totals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=float, default=1 / 3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    passed = failed = skipped = 0
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/gemm-cpu"
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-O3", "-march=native",
                        "-fopenmp", str(HERE / "gemm-cpu.c"), "-o", program, "-lm", "-ldl"],
                       check=True)
        for shape in SHAPES:
            run = subprocess.run([program, *map(str, shape)], capture_output=True, text=True,
                                 env=environment, check=False)
            name = "x".join(map(str, shape))
            if run.returncode != 0:
                failed += 1
                print(f"{name}: {run.stderr.strip()}")
                continue
            row = json.loads(run.stdout)
            if "skipped" in row:
                skipped += 1
                print(f"{name}: {row['skipped']}")
                continue
            rows.append(row)
            share = row["f32_gflops"] / row["openblas_gflops"]
            slow = share < options.least
            failed += slow
            passed += not slow
            print(f"{name}: f32 {row['f32_gflops']} GFLOP/s, bf16 {row['bf16_gflops']}, OpenBLAS "
                  f"({row['core']}) {row['openblas_gflops']}, {row['threads']} threads: "
                  f"{share:.2f} of it{': too slow' if slow else ''}")
    if options.json:
        print(json.dumps(rows, indent=2))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
