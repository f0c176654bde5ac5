# Python's Celery posts to this worker, this client posts to Python's worker.
source "$TESTS/prelude.sh"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TESTS C_FORCE_ROOT=1

worker --name ours >log 2>&1 &
first=$!
await log ready
/usr/bin/python3 "$TESTS/celery_app.py"
kill $first
wait $first

/usr/bin/python3 -W ignore -m celery -A celery_app worker --pool threads --concurrency 2 --hostname theirs \
  --loglevel INFO >log2 2>&1 &
second=$!
await log2 'ready\.'
ask 'to Python'
ask 'to Python' --args '[]' --kwargs '{"x": 5, "y": 5}'
ask 'to Python' --args '["a", "b"]'
ask 'to Python' --task addTask.divide --args '[1, 0]'
ask 'to Python' --task addTask.subtract
ask 'to Python' --task addTask.flaky --args '[2]'
ask 'to Python' --countdown 0.1
ask 'to Python' --countdown 0.1 --expires 0.05
status_with 'worker celery@theirs: pid [0-9]' --queues celery
kill $second
wait $second
