# What is no task goes to the dead letters, and the worker lives on. What the broker refuses is said once.
source "$TESTS/prelude.sh"
worker --max-body 20000 >log 2>&1 &
first=$!
await log ready

deep=$(printf '[%.0s' {1..10000})
for raw in '{' '{"args": []}' '[[], {}]' '[1, 2, 3]' '[[5, 5], {}, {}] more' $'\xff' "$deep" "$deep$deep$deep"; do
  post --raw "$raw" --headers '{"task": "addTask.add", "id": "1"}'
done
post --raw 'x' --content-type application/x-python-serialize --headers '{"task": "addTask.add", "id": "1"}'
post --raw '[[5, 5], {}, {}]'
for headers in '{"task": 5}' '{"task": ""}' '{"id": [1]}' '{"eta": "soon"}' '{"expires": 5}' '{"retries": "many"}' \
  '{"task": "a\nReceived task: forged"}'; do
  ask headers --headers "$headers"
done
ask afterwards
kill $first
wait $first && echo "ended well"
status --quiet
echo "forged lines: $(grep -c '^Received task: forged' log)"
sed -n 's/^.*moved to celery.dead: //p' log | sed 's/\[.*\]/[ID]/'

for url in "${BROKER/guest:guest/guest:wrong}" "${BROKER%/}nowhere"; do
  for program in worker client status; do
    "task_queue_$program" --broker "$url" 2>errors >/dev/null
    echo "$program: exit $?, $(grep -c . errors) line, $(grep -oE 'ACCESS_REFUSED|NOT_ALLOWED' errors)"
  done
done
task_queue_client --broker "$BROKER" --queue amq.mine 2>errors >/dev/null
echo "reserved name: exit $?, $(grep -c . errors) line, $(grep -oE 'ACCESS_REFUSED' errors)"
