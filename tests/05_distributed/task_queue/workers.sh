# Workers side by side, a worker that is killed, a worker that is asked to stop.
source "$TESTS/prelude.sh"

# Catalogue 5.2, check 5: two workers with a thread each overlap two long tasks, one does not.
worker --queues naps --concurrency 1 --prefetch 1 >first 2>&1 &
first=$!
await first ready
ask one --queue naps --task addTask.nap --args '[0.2]' --times 2
worker --queues naps --concurrency 1 --prefetch 1 >second 2>&1 &
second=$!
await second ready
ask two --queue naps --task addTask.nap --args '[1]' --times 2

# One of them is killed in mid-task: the other does the task when it has done its own.
post --queue naps --task addTask.nap --args '[1]' --times 2
await first Received 4
await second Received 2
kill -KILL $second
await first 'Received.*, which a worker had and left undone'
await first succeeded 5
echo "done by the other, having been left undone: $(grep -c 'left undone' first)"

# The last one is killed as well. A third, asked to stop, finishes the task that runs; the next goes back to the queue.
post --queue naps --task addTask.nap --args '[1]' --times 2
await first Received 6
kill -KILL $first
worker --queues naps --concurrency 1 --prefetch 2 >third 2>&1 &
third=$!
await third Received 2
kill -TERM $third
wait $third
echo "exit code $?, received $(grep -c Received third), succeeded $(grep -c succeeded third)"
status --quiet --queues naps
