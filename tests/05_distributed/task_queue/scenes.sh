# Plays the scenes that are named, one after another beside the same broker. The line "== NAME" stands before what each
# of them prints; a scene that fails says so at its end. What a scene leaves in the queue celery.dead the next finds there.
for scene in "$@"; do
  echo "== $scene"
  (trap 'kill -KILL $(jobs -p) 2>/dev/null' EXIT; source "$TESTS/$scene.sh") || echo "the scene has failed: $?"
done
