#!/usr/bin/env python3
"""Adds up the results of one test run: names what failed, ends with `N passed, M failed`.

Reads ctest.xml (one entry per test program) and <program>.json (the cases, as GoogleTest wrote
them) from the folder given. Exits with 1 when anything failed or nothing was run.
"""

import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def main(folder: pathlib.Path) -> int:
    passed, failed, skipped = 0, [], []
    report = folder / "ctest.xml"
    programs = ElementTree.parse(report).getroot().iter("testcase") if report.exists() else []
    for program in programs:
        name = program.get("name")
        failed_before = len(failed)
        cases = folder / f"{name}.json"
        if cases.exists():
            for suite in json.loads(cases.read_text()).get("testsuites", []):
                for case in suite["testsuite"]:
                    title = f"{suite['name']}.{case['name']}"
                    if case.get("failures"):
                        failed.append(title)
                    elif case.get("result") == "SKIPPED":
                        skipped.append(title)
                    elif case.get("status") == "RUN":
                        passed += 1
        if program.get("status") != "run" and len(failed) == failed_before:
            why = "ended badly after its cases" if cases.exists() else "crashed or timed out"
            failed.append(f"{name} ({why})")

    for title in skipped:
        print(f"skipped: {title}")
    for title in failed:
        print(f"failed: {title}")
    print(f"{passed} passed, {len(failed)} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
