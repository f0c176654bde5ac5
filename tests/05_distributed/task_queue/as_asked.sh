# Catalogue 5.2, checks 2 to 4, and what apply_async() can be asked for.
source "$TESTS/prelude.sh"

post --times 2
status --quiet
worker --name first --queues celery,later >log 2>&1 &
first=$!
await log ready

ask source
ask position --args '[2.5, -1]'
ask name --args '[]' --kwargs '{"y": 1, "x": 2}'
ask mixed --args '[1]' --kwargs '{"y": 2}'
ask few --args '[1]'
ask many --args '[1, 2, 3]'
ask twice --kwargs '{"x": 1}'
ask strange --kwargs '{"z": 1}'
ask texts --args '["a", "b"]'
ask large --args '[9223372036854775807, 1]'
ask unknown --task addTask.nowhere
ask flaky --task addTask.flaky --args '[3]'
ask hopeless --task addTask.flaky --args '[4]'
ask expired --countdown 0.2 --expires 0.1
ask unexpired --expires 1000
ask past --eta 2020-02-02T02:02:02+02:00
ask future --queue later --eta 2200-01-01T00:00:00Z --wait 0.2
ask ignored --ignore-result
ask elsewhere --queue slow --wait 0.2
await log '^Task addTask.add.* (succeeded|failed|expired)' 16  # all but the one of the future
status_with 'worker first: pid [0-9]' --queues celery,slow,celery.dead,none | grep -v 'executed: 0'

worker --name second --queues slow,celery --app other >log2 2>&1 &
second=$!
await log2 'Received task: addTask.add'
status --quiet --queues slow
# Each task of addTask.add: received once, and then one record of its end.
ended=$(grep -cE '^Task addTask.add.* (succeeded|failed|expired)' log)
echo "received $(grep -E '^Received task: addTask.add' log | sort -u | wc -l), ended $ended"
kill $first $second
wait $first && wait $second && echo "both workers ended well"
