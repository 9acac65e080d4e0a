#!/usr/bin/env python3
"""Random graphs as compiled programs: fuzz-rewriting writes drawings, each is exported (every other
one packed), many are compiled by one call of the compiler, and each program's check runs.

usage: run-compiled.py --fuzz PATH/fuzz-rewriting --program PATH/tilewright [--count N] [--seed S]
                       [--batch N] [--keep DIR]
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

FLAGS = ['-std=gnu17', '-O1', '-Wall', '-Wextra', '-fopenmp', '-fdiagnostics-color=never']


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)


def export(options, folder, i):
    """Writes the program of graph i; '' or what went wrong."""
    drawing = os.path.join(folder, 'drawings', f'f{i}.xml')
    place = os.path.join(folder, f'f{i}')
    pack = ['--pack'] if i % 2 else []
    result = run([options.program, 'export', *pack, '-o', place, drawing])
    return '' if result.returncode == 0 else result.stdout or f'status {result.returncode}'


def write_main(folder, batch):
    """One main that calls those of the batch; returns the sources."""
    sources = []
    calls = []
    for i in batch:
        place = os.path.join(folder, f'f{i}')
        wrapped = os.path.join(place, 'wrapped.c')
        with open(wrapped, 'w', encoding='utf-8') as out:
            out.write(f'#define main f{i}_run\nint f{i}_run (int, char **);\n'
                      f'#include "f{i}_main.c"\n')
        sources += [wrapped] + [os.path.join(place, f) for f in sorted(os.listdir(place))
                                if f.endswith('.c') and f not in ('wrapped.c', f'f{i}_main.c')]
        calls.append(i)
    main = os.path.join(folder, f'main{batch[0]}.c')
    with open(main, 'w', encoding='utf-8') as out:
        out.write('#include <stdlib.h>\n')
        out.writelines(f'int f{i}_run (int, char **);\n' for i in calls)
        out.write('int main (int argc, char **argv)\n{\n'
                  '  int which = argc > 1 ? atoi (argv[1]) : -1;\n')
        out.writelines(f'  if (which == {i})\n    return f{i}_run (argc - 1, argv + 1);\n'
                       for i in calls)
        out.write('  return 1;\n}\n')
    return [main] + sources


def is_near(text):
    """The check failed, but by errors of at most eight tolerances alone."""
    wrong = [line for line in text.split('\n') if line.endswith('WRONG') and 'tolerance' in line]
    ratios = [float(x) for line in wrong
              for x in re.findall(r'([0-9.]+|inf|nan) by (?:row|column)', line)]
    return (bool(wrong) and all(x <= 8 for x in ratios) and 'never written' not in text
            and not re.search(r'[1-9][0-9]* failed', text))


def try_check(program, which, folder):
    """'' or the output of a check that failed. Its bounds on rounding errors are made for programs that
    people draw; a random one may exceed them a little, where rounding is magnified (f16 below its
    normal range). What is wrong exceeds them by far, at any seed."""
    wrong = []
    for seed in ('1', '2', '3'):
        try:
            check = run([program, which, 'check', '--seed', seed], cwd=folder, timeout=120,
                        env={**os.environ, 'OMP_NUM_THREADS': '2'})
        except subprocess.TimeoutExpired:
            return 'the check takes more than two minutes'
        if check.returncode and not is_near(check.stdout):
            wrong.append(check.stdout[-2500:] or f'status {check.returncode}')
        if not wrong or len(wrong) > 1:
            break
    return wrong[1] if len(wrong) > 1 else ''


def try_batch(options, folder, batch):
    """List of (graph, what went wrong or '')."""
    found = {i: export(options, folder, i) for i in batch}
    good = [i for i in batch if not found[i]]
    if not good:
        return list(found.items())
    program = os.path.join(folder, f'batch{batch[0]}')
    result = run(['gcc', *FLAGS, '-o', program, *write_main(folder, good), '-lm'], cwd=folder)
    if result.returncode:
        if len(batch) == 1:
            return [(batch[0], 'does not compile\n' + result.stdout[:2000])]
        # Each alone, to see which it is.
        return [one for i in batch for one in try_batch(options, folder, [i])]
    for i in good:
        warnings = [line for line in result.stdout.split('\n')
                    if f'/f{i}/' in line and ': warning: ' in line]
        if warnings:
            found[i] = 'warnings\n' + '\n'.join(warnings[:5])
            continue
        found[i] = try_check(program, str(i), folder)
    return list(found.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--fuzz', required=True)
    parser.add_argument('--program', required=True)
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--batch', type=int, default=20)
    parser.add_argument('--keep')
    options = parser.parse_args()
    options.fuzz = os.path.abspath(options.fuzz)
    options.program = os.path.abspath(options.program)
    start = time.time()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.abspath(options.keep or scratch)
        os.makedirs(os.path.join(folder, 'drawings'), exist_ok=True)
        result = run([options.fuzz, '--runnable', '--count', str(options.count), '--seed',
                      str(options.seed), '--emit', os.path.join(folder, 'drawings')])
        if result.returncode:
            print(result.stdout)
            return 1
        batches = [list(range(i, min(i + options.batch, options.count)))
                   for i in range(0, options.count, options.batch)]
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            for found in pool.map(lambda batch: try_batch(options, folder, batch), batches):
                for i, wrong in found:
                    passed += not wrong
                    failed += bool(wrong)
                    if wrong:
                        print(f'FAILED f{i} (seed {options.seed}{", packed" if i % 2 else ""})\n'
                              f'{wrong}', flush=True)
                print(f'{passed + failed} of {options.count}, {time.time() - start:.0f} s',
                      flush=True)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
