"""A client in Python of the worker in C++: prints what becomes of each task that it posts."""
import sys
import time

from celery import chain, group
from celery_app import add, app, divide, flaky, nap, outcome


def show(what, handle):
    print(f"{what} {outcome(handle)}", flush=True)


def one(answers):
    """The answer of the only worker."""
    (answer,) = answers.values()
    return answer


def once(question, count):
    """The answer as soon as it lists so many tasks; tasks come to the worker on another way than questions."""
    end = time.monotonic() + 30
    while len(tasks := one(question())) != count and time.monotonic() < end:
        time.sleep(0.01)
    return tasks


def posting():
    show("add", add.delay(5, 5))
    show("by name", add.apply_async(kwargs={"x": 5, "y": 5}))
    show("fractions", add.delay(1.25, 2))
    show("largest", add.delay(2**63 - 1, 0))
    show("large", add.delay(2**62, 2**62))
    show("huge", add.delay(2**63, 1))
    show("nan", add.delay(float("nan"), 1))
    show("texts", add.delay("a", "b"))
    show("missing", app.send_task("addTask.add", (1,)))
    show("divide", divide.delay(1, 0))
    show("unknown", app.send_task("addTask.subtract", (5, 5)))
    show("crash", app.send_task("addTask.crash"))
    show("flaky", flaky.delay(2))
    show("too flaky", flaky.delay(9))
    show("countdown", add.apply_async((5, 5), countdown=0.3))
    show("expired", add.apply_async((5, 5), countdown=0.2, expires=0.1))
    show("other queue", add.apply_async((5, 5), queue="other"))
    show("time limit", nap.apply_async((60,), time_limit=0.2))
    show("soft limit", nap.apply_async((60,), soft_time_limit=0.2))
    print("group", group(add.s(i, i) for i in range(5)).apply_async().get(timeout=30))


def refused():
    show("pickled", add.apply_async((5, 5), serializer="pickle"))
    show("compressed", add.apply_async((5, 5), compression="zlib"))
    show("linked", add.apply_async((5, 5), link=add.s(1)))
    show("starmap", add.starmap([(1, 1), (2, 2)]).apply_async())
    show("option in a chain", chain(add.s(1, 2), add.s(3).set(priority=3, link=add.s(1))).apply_async())


def chains():
    last = chain(add.s(1, 2), add.s(3), add.s(4)).apply_async()
    show("its first", last.parent.parent)  # in the order in which they come: who has read past one waits for a second
    show("its second", last.parent)
    show("chain", last)
    show("immutable", chain(add.s(1, 2), add.si(7, 7).set(countdown=0.1, queue="other")).apply_async())
    show("first fails", chain(divide.s(1, 0), add.s(3), add.s(4)).apply_async())
    show("second fails", chain(add.s(1, 1), divide.s(0), add.s(4)).apply_async())
    show("no such queue", chain(add.s(1, 1), add.s(1).set(queue="nowhere")).apply_async())


def controlling():
    print("ping", one(app.control.inspect(timeout=1).ping()))  # all answers that come within a second: one
    inspect = app.control.inspect(timeout=30, limit=1)
    print("registered", one(inspect.registered()))
    queues = one(inspect.active_queues())
    print("queues", [queue["name"] for queue in queues])
    for name in "exclusive", "durable", "routing_key", "no_ack", "alias", "queue_arguments", "binding_arguments":
        queues[0][name]  # Flower's page of a worker needs all of these
    later, running, waiting = add.apply_async((5, 5), countdown=600), nap.delay(600), nap.delay(600)
    third = add.delay(1, 1)  # two processes have naps, so this one is reserved
    print("scheduled", [entry["request"]["id"] == later.id for entry in once(inspect.scheduled, 1)])
    print("active", sorted(task["name"] for task in once(inspect.active, 2)))
    print("reserved", {task["id"] for task in once(inspect.reserved, 1)} == {third.id})
    running.revoke(terminate=1)  # as Flower does
    show("terminated", running)
    show("third", third)
    waiting.revoke(terminate=True)
    show("terminated", waiting)
    brief = add.apply_async((5, 5), countdown=2)
    app.control.revoke(brief.id, reply=True, timeout=30, limit=1)
    show("revoked", brief)
    print("revoked", brief.id in one(inspect.revoked()))
    stats = one(inspect.stats())
    print("stats", stats["total"]["addTask.add"] > 10, stats["pool"]["max-concurrency"], stats["broker"]["transport"])
    print("refused", app.control.rate_limit("addTask.add", "1/s", reply=True, timeout=30, limit=1)[0].popitem()[1])


def losing_the_connection():
    """The worker publishes a heartbeat to an exchange that is gone. So the broker closes its channel, and delivers its
    task again when the worker is back."""
    running = nap.delay(600)
    once(app.control.inspect(timeout=30, limit=1).active, 1)
    with app.connection() as connection:
        connection.default_channel.exchange_delete("celeryev")
    app.control.heartbeat()
    inspect, again = app.control.inspect(timeout=1, limit=1), []  # without an answer while the worker is away
    while not any(again):
        again = [task["delivery_info"]["redelivered"] for task in one(inspect.active() or {"": []})]
    print("delivered again", again)
    running.revoke(terminate=True)
    show("terminated", running)


def monitoring():
    """What Flower does: keeps a picture of all workers and tasks that is made of their events."""
    state = app.events.State()
    handle = None

    with app.connection() as connection:

        def note(event):
            nonlocal handle
            state.event(event)
            if event["type"] == "worker-heartbeat" and handle is None:
                app.control.enable_events(reply=True, timeout=30, limit=1)
                app.send_task("addTask.subtract", (2, 3), ignore_result=True)
                handle = add.apply_async((2, 3), ignore_result=True)
            if event["type"] == "task-succeeded":
                receiver.should_stop = True

        receiver = app.events.Receiver(connection, handlers={"*": note})
        receiver.capture(limit=None, timeout=30, wakeup=False)
    print("monitor", [worker.alive for worker in state.workers.values()],
          sorted((task.name, task.state, task.result) for task in state.tasks.values()))


def following():
    """What the worker of celery_chain does: tasks after one another, and tasks for later."""
    last = chain(add.s(1, 2), add.s(3), add.s(4)).apply_async()
    show("its first", last.parent.parent)
    show("its second", last.parent)
    show("chain", last)
    show("immutable", chain(add.s(1, 2), add.si(7, 7).set(countdown=0.1)).apply_async())
    show("first fails", chain(divide.s(1, 0), add.s(3), add.s(4)).apply_async())
    show("second fails", chain(add.s(1, 1), divide.s(0), add.s(4)).apply_async())
    show("no such queue", chain(add.s(1, 1), add.s(1).set(queue="nowhere")).apply_async())
    show("flaky", flaky.delay(2))
    show("too flaky", flaky.delay(9))
    show("countdown", add.apply_async((5, 5), countdown=0.3))
    show("expired", add.apply_async((5, 5), countdown=0.2, expires=0.1))
    show("long", chain(add.s(1, 0), *[add.s(1) for _ in range(99)]).apply_async())


for section in sys.argv[1:] or ["posting", "refused", "chains", "controlling", "losing_the_connection", "monitoring"]:
    globals()[section]()
