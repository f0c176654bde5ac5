"""Whether a program that is skipped (exit code 77) says why, and whether that is true."""
import ctypes
import functools
import re

CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76  # CUdevice_attribute


@functools.cache
def cuda_devices():
    """The compute capabilities of CUDA's devices, as its driver tells them; none without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found = []
    for device in range(count.value):
        major, minor = ctypes.c_int(0), ctypes.c_int(0)
        driver.cuDeviceGetAttribute(ctypes.byref(major), CAPABILITY_MAJOR, device)
        driver.cuDeviceGetAttribute(ctypes.byref(minor), CAPABILITY_MINOR, device)
        found.append((major.value, minor.value))
    return found


def opencl_devices():
    """How many devices OpenCL's drivers have; none without the loader."""
    try:
        loader = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return 0
    count = ctypes.c_uint(0)
    if loader.clGetPlatformIDs(0, None, ctypes.byref(count)) != 0:
        return 0
    platforms = (ctypes.c_void_p * count.value)()
    loader.clGetPlatformIDs(count, platforms, None)
    every_type, found = ctypes.c_ulong(0xFFFFFFFF), 0
    for platform in platforms:
        here = ctypes.c_uint(0)
        if loader.clGetDeviceIDs(ctypes.c_void_p(platform), every_type, 0, None, ctypes.byref(here)) == 0:
            found += here.value
    return found


def skip_fault(one, text):
    """What is wrong with it that a program of the recipe has skipped itself, having printed this; None if nothing is.
    With a device, it may still need a newer driver, more devices, or one that can do more."""
    reasons = re.findall(r"\bskipped[,:] (.+)", text)
    if not reasons:
        return "it is skipped and does not say why"
    for_opencl = "opencl" in one.needs and any("no OpenCL device" in reason for reason in reasons)
    if for_opencl and (found := opencl_devices()):
        return f"it is skipped for want of an OpenCL device, and the drivers have {found}"
    if "cuda" not in one.needs:
        return None
    for reason in reasons:
        devices = cuda_devices()
        if "no CUDA device" in reason and "insufficient" not in reason and devices:
            return f"it is skipped for want of a CUDA device, and the driver has {len(devices)}"
        wanted = re.search(r"compute capability (\d+)\.(\d+) or newer", reason)
        if wanted and devices and min(devices) >= (int(wanted[1]), int(wanted[2])):
            return f"it is skipped, and every device has a compute capability that would do: {reason}"
    return None
