"""Four Python threads call a C function, which keeps the interpreter lock (PyDLL) or gives it up (CDLL)."""
import ctypes
import threading
import time

text, letters = b"x" * 100_000_000, b"abcdefghijklmnopqrstuvwxyz"


def milliseconds(function, arguments):  # the fastest of five runs
    times = []
    for _ in range(5):
        threads = [threading.Thread(target=function, args=arguments) for _ in range(4)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times.append(1000 * (time.perf_counter() - begin))
    return min(times)


keep, give_up = ctypes.PyDLL(None), ctypes.CDLL(None)
for name, arguments in ("strspn", (text, letters)), ("usleep", (20_000,)):
    kept, given_up = (milliseconds(library[name], arguments) for library in (keep, give_up))
    print(f"{name}: {kept:.0f} ms if it keeps the lock, {given_up:.0f} ms if it gives it up")
