#!/usr/bin/env python3
"""The test of an exercise: the untouched program is refused for its symptom, a plausible wrong repair is refused with
the expected reason, and the known solution is accepted.

Usage: check_exercise.py NAME --build FOLDER
       check_exercise.py --lists               the definitions of all exercises are complete and fit the programs
Prints a line per fault. Exit code 0: true, 1: at least one fault, 77: skipped.
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"))
import cookbook  # noqa: E402
import exercises  # noqa: E402
import judging  # noqa: E402


def judged(exercise, case, texts, build, **effort):
    folder = build / "exercise_tests" / exercise.name / case  # always the same, so that a compiler's cache knows it
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    verdict = judging.judge(exercise, folder, build, **effort)
    if verdict.skipped:
        print(verdict)
        sys.exit(cookbook.SKIPPED)
    return verdict


def right_reasons(exercise):
    """Texts of which one must stand in the answer to the untouched program."""
    under = " ".join(cookbook.head_field(exercise.original, f"Symptom under {judging.sanitizer_of(exercise)}"))
    return [judging.symptom_of(exercise) or "hangs", *re.findall(r'prints "([^"]+)"', under)]


def faults(exercise, build):
    untouched = judged(exercise, "untouched", exercise.texts(), build)
    reasons = right_reasons(exercise)
    if untouched.accepted or not any(reason in str(untouched) for reason in reasons):
        yield f"the untouched program is not refused for {' or '.join(reasons)}, but: {untouched}"
    solution = exercise.solution()
    wrong = judged(exercise, "wrong", exercise.edited(solution["wrong"]["edits"]), build)
    if wrong.accepted or solution["wrong"]["refused"] not in str(wrong):
        yield f"the wrong repair is not refused for {solution['wrong']['refused']}, but: {wrong}"
    right = judged(exercise, "right", exercise.edited(solution["solution"]), build, runs=5, seconds=2)
    if not right.accepted:
        yield f"the known solution is refused: {right}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--lists", action="store_true")
    args = parser.parse_args()
    if args.lists:
        found = list(exercises.faults_of_lists())
    else:
        exercise = next((one for one in exercises.exercises() if one.name == args.name), None)
        try:
            found = list(faults(exercise, args.build.resolve())) if exercise else [f"there is no exercise {args.name}"]
        except ValueError as error:  # a change that does not fit
            found = [str(error)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
