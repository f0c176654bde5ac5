# The lesson, once and short.
source "$TESTS/prelude.sh"
task_queue --broker "$BROKER" --tasks 50 --repeats 1
