# Ctrl-C in mid-lesson: the whole process group gets the signal.
source "$TESTS/prelude.sh"
(await lesson Received && kill -INT 0) &
task_queue --broker "$BROKER" --tasks 1000000 >lesson
