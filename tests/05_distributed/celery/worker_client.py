"""A client in Python of the simple worker in C++: prints what becomes of each task that it posts."""
from celery import chain, group
from celery_app import add, app, divide, outcome

posts = {
    "add": lambda: add.delay(5, 5),
    "by name": lambda: add.apply_async(kwargs={"x": 5, "y": 5}),
    "largest": lambda: add.delay(2**63 - 1, 0),
    "huge": lambda: add.delay(2**63, 1),
    "large": lambda: add.delay(2**62, 2**62),
    "missing": lambda: app.send_task("addTask.add", (1,)),
    "divide": lambda: divide.delay(1, 0),
    "unknown": lambda: app.send_task("addTask.subtract", (5, 5)),
    "expired": lambda: add.apply_async((5, 5), expires=-1),
    "countdown": lambda: add.apply_async((5, 5), countdown=1),
    "time limit": lambda: add.apply_async((5, 5), time_limit=1),
    "linked": lambda: add.apply_async((5, 5), link=add.s(1)),
    "chain": lambda: chain(add.s(1, 2), add.s(3)).apply_async(),
    "its first task": lambda: chain(add.s(1, 2), add.s(3)).apply_async().parent,
    "pickled": lambda: add.apply_async((5, 5), serializer="pickle"),
    "compressed": lambda: add.apply_async((5, 5), compression="zlib"),
}
for what, post in posts.items():
    print(what, outcome(post()), flush=True)
print("group", group(add.s(i, i) for i in range(5)).apply_async().get(timeout=30))
