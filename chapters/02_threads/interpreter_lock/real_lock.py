"""Python threads call C functions, which keep the interpreter lock (PyDLL) or give it up (CDLL)."""
import ctypes
import threading
import time
import timeit


def milliseconds(count, function, *arguments):  # in so many threads
    threads = [threading.Thread(target=function, args=arguments) for _ in range(count)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 1000 * (time.perf_counter() - begin)


keep, give_up = ctypes.PyDLL(None), ctypes.CDLL(None)
text, letters = b"x" * 50_000_000, b"abcdefghijklmnopqrstuvwxyz"
for name, arguments in ("strspn", (text, letters)), ("usleep", (20_000,)):
    kept, given_up = (min(milliseconds(4, library[name], *arguments) for _ in range(3)) for library in (keep, give_up))
    print(f"4 threads, {name}: {kept:.0f} ms if it keeps the lock, {given_up:.0f} ms if it gives it up")

calls = 200_000
kept, given_up = (1e9 / calls * min(timeit.repeat(lambda: library.abs(1), number=calls)) for library in (keep, give_up))
print(f"1 thread, abs: {kept:.0f} ns if it keeps the lock, {given_up:.0f} ns if it gives it up")

stop = threading.Event()


def compute():
    while not stop.is_set():
        pass


def ten_replies():
    for _ in range(10):
        time.sleep(0.001)


threading.Thread(target=compute).start()
print(f"10 replies of 1 ms while another thread computes: {min(milliseconds(1, ten_replies) for _ in range(3)):.0f} ms")
stop.set()

counter, additions = 0, 1_000_000


def one():
    return 1


def add():
    global counter
    for _ in range(additions):
        counter += one()


milliseconds(2, add)
print(f"counter += one() in 2 threads: {100 - 50 * counter / additions:.0f} % of the additions were lost")
