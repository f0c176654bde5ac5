"""Python's side of the tests of celery_worker and celery_control: the application addTask, at the broker $BROKER."""
import os
import time

import celery

app = celery.Celery("addTask", broker=os.environ["BROKER"], backend="rpc://")


@app.task(name="addTask.add")
def add(x, y):
    return x + y


@app.task(name="addTask.divide")
def divide(x, y):
    return x / y


@app.task(name="addTask.nap")
def nap(seconds):
    began = time.time()
    time.sleep(seconds)
    return [began, time.time()]


@app.task(name="addTask.flaky", bind=True)
def flaky(self, failures):
    if self.request.retries < failures:
        raise self.retry(countdown=0.05, max_retries=3)
    return self.request.retries


def outcome(handle):
    """What becomes of a task, as `SUCCESS: 10` or `FAILURE: builtins.ValueError: text`."""
    try:
        return f"SUCCESS: {handle.get(timeout=30)!r}"
    except Exception as error:
        return f"{handle.state}: {type(error).__module__}.{type(error).__name__}: {error}"
