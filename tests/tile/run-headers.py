#!/usr/bin/env python3
"""Each header of the tile layer and each block's device functions alone, as C17 and C++17, by the
compilers that there are, with one lane and 32: no warning of -Wconversion and the like."""
import glob
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAGS = ['-Wall', '-Wextra', '-Wconversion', '-Wsign-conversion', '-Wshadow', '-Wundef', '-Werror',
         '-fsyntax-only', '-I', ROOT]
LANGUAGES = [('gcc', '-std=c17', 'c'), ('g++', '-std=c++17', 'c++'), ('clang', '-std=c17', 'c'),
             ('clang++', '-std=c++17', 'c++')]


def main():
    headers = sorted(glob.glob(os.path.join(ROOT, 'blocks', 'tile', '*.h'))
                     + glob.glob(os.path.join(ROOT, 'blocks', '*', '*.cuh')))
    passed = failed = skipped = 0
    for compiler, standard, language in LANGUAGES:
        if not shutil.which(compiler):
            skipped += len(headers)
            continue
        for header in headers:
            name = os.path.relpath(header, ROOT)
            good = True
            for lanes in ('1', '32'):
                result = subprocess.run(
                    [compiler, standard, *FLAGS, f'-DTW_LANES={lanes}', '-x', language, '-'],
                    input=f'#include "{name}"\n', stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True, cwd=ROOT)
                if result.returncode:
                    good = False
                    print(f'FAILED {name}, {compiler}, {lanes} lanes\n{result.stdout[:1500]}')
            passed += good
            failed += not good
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed or not headers else 0


if __name__ == '__main__':
    sys.exit(main())
