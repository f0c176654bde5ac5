"""Python's side of the tests of task_queue: the application addTask in Celery, as a worker and as a client.

    celery -A celery_app worker         a worker with the tasks below
    python3 celery_app.py               a client, which prints what became of each task it has posted

The broker's address is in $BROKER.
"""
import os

import celery

app = celery.Celery("addTask", broker=os.environ["BROKER"], backend="rpc://")


@app.task(name="addTask.add")
def add(x, y):
    return x + y


@app.task(name="addTask.divide")
def divide(x, y):
    return x / y


@app.task(name="addTask.flaky", bind=True)
def flaky(self, failures):
    if self.request.retries < failures:
        raise self.retry(countdown=0.05, max_retries=3)
    return self.request.retries


def outcome(name, *args, kwargs=None, **how):
    """What becomes of a task, as `SUCCESS: 10` or `FAILURE: builtins.ValueError: text`."""
    handle = app.send_task(name, args, kwargs, **how)
    try:
        return f"SUCCESS: {handle.get(timeout=20)!r}"
    except Exception as error:
        return f"{handle.state}: {type(error).__module__}.{type(error).__name__}: {error}"


if __name__ == "__main__":
    print("add", outcome("addTask.add", 5, 5))
    print("by name", outcome("addTask.add", kwargs={"x": 5, "y": 5}))
    print("fractions", outcome("addTask.add", 1.25, 2))
    print("large", outcome("addTask.add", 2**62, 2**62))
    print("texts", outcome("addTask.add", "a", "b"))
    print("missing", outcome("addTask.add", 1))
    print("divide", outcome("addTask.divide", 1, 0))
    print("unknown", outcome("addTask.subtract", 5, 5))
    print("flaky", outcome("addTask.flaky", 2))
    print("countdown", outcome("addTask.add", 5, 5, countdown=0.1))
    print("expired", outcome("addTask.add", 5, 5, countdown=0.1, expires=0.05))
    print("pickled", outcome("addTask.add", 5, 5, serializer="pickle"))
    print("linked", outcome("addTask.add", 5, 5, link=add.s(1)))
    inspect = app.control.inspect(timeout=1)
    print("ping", inspect.ping())
    print("registered", inspect.registered())
