"""Python's side of the tests of celery_worker, celery_chain and celery_monitor: the application addTask."""
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
        return f"SUCCESS: {handle.get(timeout=60)!r}"
    except Exception as error:
        # Newer versions raise the failure of an earlier task of the chain before they have read that of the last one.
        while handle.state == "PENDING" and handle.parent:
            handle = handle.parent
        return f"{handle.state}: {type(error).__module__}.{type(error).__name__}: {error}"
