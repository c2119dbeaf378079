#!/usr/bin/env python3
"""Proves from inside a container that its GPU works: device nodes, NVIDIA's library, and a program that computes.

Prints one line of JSON and ends with 0 where all of it is well, else with 1. Runs with Python 3.8 and nothing but what
NVIDIA's container runtime puts into the container. A library that exports `edgectl_lab_simulated`, as that of
edgectl's lab does, says itself that there is no GPU behind it: nothing is computed then, and the answer says so.
"""

import argparse
import array
import ctypes
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import time

LIBRARY = "libcuda.so.1"
SIMULATED = "edgectl_lab_simulated"
ELEMENTS = 1 << 20
THREADS = 256
NODES = (
    "dev/nvhost-gpu",
    "dev/nvhost-ctrl-gpu",
    "dev/nvmap",
    "dev/nvgpu/igpu0/*",
    "dev/nvidia[0-9]*",
    "dev/nvidiactl",
    "dev/nvidia-uvm",
)
# Of a kind's alternatives one must be there as a whole. A Jetson's GPU is behind nvgpu's nodes, old or new, but for
# Thor, whose driver is that of discrete GPUs.
NEEDED = {
    "jetson": (("dev/nvhost-gpu", "dev/nvmap"), ("dev/nvgpu/igpu0/*",), ("dev/nvidia[0-9]*",)),
    "dgpu": (("dev/nvidia[0-9]*", "dev/nvidiactl", "dev/nvidia-uvm"),),
}

# CUdevice_attribute (cuda.h)
MAJOR, MINOR = 75, 76

# CUdeviceptr is 64 bits wide everywhere; a handle that is passed on untyped would be cut to 32.
_INT, _UINT, _SIZE = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
_HANDLE, _ADDRESS, _TEXT = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p
_OUT = ctypes.POINTER
PROTOTYPES = {
    "cuInit": (_UINT,),
    "cuDriverGetVersion": (_OUT(_INT),),
    "cuDeviceGetCount": (_OUT(_INT),),
    "cuDeviceGet": (_OUT(_INT), _INT),
    "cuDeviceGetName": (_TEXT, _INT, _INT),
    "cuDeviceGetAttribute": (_OUT(_INT), _INT, _INT),
    "cuDeviceTotalMem_v2": (_OUT(_SIZE), _INT),
    "cuDevicePrimaryCtxRetain": (_OUT(_HANDLE), _INT),
    "cuDevicePrimaryCtxRelease": (_INT,),
    "cuCtxSetCurrent": (_HANDLE,),
    "cuCtxSynchronize": (),
    "cuModuleLoadData": (_OUT(_HANDLE), _TEXT),
    "cuModuleGetFunction": (_OUT(_HANDLE), _HANDLE, _TEXT),
    "cuModuleUnload": (_HANDLE,),
    "cuMemAlloc_v2": (_OUT(_ADDRESS), _SIZE),
    "cuMemFree_v2": (_ADDRESS,),
    "cuMemcpyHtoD_v2": (_ADDRESS, _HANDLE, _SIZE),
    "cuMemcpyDtoH_v2": (_HANDLE, _ADDRESS, _SIZE),
    "cuLaunchKernel": (_HANDLE, *[_UINT] * 7, _HANDLE, _OUT(_HANDLE), _OUT(_HANDLE)),
    "cuGetErrorName": (_INT, _OUT(_TEXT)),
    "cuGetErrorString": (_INT, _OUT(_TEXT)),
}

PTX = """
.version {version}
.target sm_{target}
.address_size 64

.visible .entry edgectl_add(.param .u64 left, .param .u64 right, .param .u64 sum, .param .u32 count)
{{
    .reg .pred %beyond;
    .reg .b32 %block, %threads, %thread, %index, %count, %x, %y, %z;
    .reg .b64 %left, %right, %sum, %offset;

    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %index, %block, %threads, %thread;
    ld.param.u32 %count, [count];
    setp.ge.u32 %beyond, %index, %count;
    @%beyond ret;

    ld.param.u64 %left, [left];
    ld.param.u64 %right, [right];
    ld.param.u64 %sum, [sum];
    cvta.to.global.u64 %left, %left;
    cvta.to.global.u64 %right, %right;
    cvta.to.global.u64 %sum, %sum;
    mul.wide.u32 %offset, %index, 4;
    add.u64 %left, %left, %offset;
    add.u64 %right, %right, %offset;
    add.u64 %sum, %sum, %offset;
    ld.global.u32 %x, [%left];
    ld.global.u32 %y, [%right];
    add.u32 %z, %x, %y;
    st.global.u32 [%sum], %z;
    ret;
}}
"""


class Trouble(Exception):
    """What is wrong, and what was seen of it."""

    def __init__(self, what, evidence=""):
        super().__init__(what)
        self.what = what
        self.evidence = evidence


def ptx_for(capability):
    """The program as text that the driver of a GPU of this compute capability translates.

    Every driver since CUDA 10.0 knows text for 7.5 and translates it for what is newer, which reaches to Thor's 11.0.
    What is older, such as Xavier's 7.2, has a driver that knows 5.0; CUDA 13 can't compile for it any more. Seen with
    ptxas of CUDA 11.8, 12.9 and 13.5: each takes both texts for all of 7.5 to the newest that it knows.
    """
    version, target = ("6.3", 75) if capability >= (7, 5) else ("6.0", 50)
    return PTX.format(version=version, target=target)


class Driver:
    """NVIDIA's driver API. A call that fails raises Trouble with the name of its error."""

    def __init__(self, library):
        self.library = library

    def call(self, name, *arguments):
        print("step: " + name, file=sys.stderr, flush=True)
        result = self._function(name)(*arguments)
        if result:
            raise Trouble(name + " failed: " + self._error(result))

    def _function(self, name):
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise Trouble(LIBRARY + " has no " + name, "is it NVIDIA's own, and whole?") from None
        function.argtypes = PROTOTYPES[name]
        function.restype = _INT
        return function

    def _error(self, result):
        said = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = _TEXT()
            try:
                known = self._function(name)(result, ctypes.byref(text)) == 0
            except Trouble:
                known = False
            if known and text.value:
                said.append(text.value.decode("utf-8", "replace"))
        if not said:
            return f"error {result}"
        return said[0] + (f" ({said[1]})" if len(said) > 1 else "")

    def number(self, name, *arguments, kind=_INT):
        """What a call gives through its first argument."""
        value = kind()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value


def describe(driver):
    """Versions, and the first GPU there is."""
    driver.call("cuInit", 0)
    version = driver.number("cuDriverGetVersion")
    answer = {"cuda": f"{version // 1000}.{version % 1000 // 10}"}
    answer["devices"] = driver.number("cuDeviceGetCount")
    if answer["devices"] < 1:
        raise Trouble("CUDA finds no GPU", "cuDeviceGetCount says {}".format(answer["devices"]))
    device = driver.number("cuDeviceGet", 0)
    name = ctypes.create_string_buffer(256)
    driver.call("cuDeviceGetName", name, len(name), device)
    capability = [driver.number("cuDeviceGetAttribute", attribute, device) for attribute in (MAJOR, MINOR)]
    answer["name"] = name.value.decode("utf-8", "replace")
    answer["compute_capability"] = "{}.{}".format(*capability)
    answer["memory_mib"] = driver.number("cuDeviceTotalMem_v2", device, kind=_SIZE) >> 20
    return answer, device, tuple(capability)


def row(first, step):
    """As many 32-bit numbers as are added, evenly spaced: the sum of two rows is a row again."""
    return array.array("I", range(first, first + ELEMENTS * step, step))


def compute(driver, device, capability):
    """Add two vectors on the GPU and compare every element. Other numbers each time: memory keeps old results."""
    # Small enough that no sum is beyond 32 bits, and none is 0.
    first, second = (1 + int.from_bytes(os.urandom(3), "little") for _ in range(2))
    left, right, expected = row(first, 1), row(second, 999), row(first + second, 1000)
    # Never the right sum, so that a kernel that did not run is seen.
    found = array.array("I", bytes(ELEMENTS * left.itemsize))
    size = ELEMENTS * left.itemsize
    started = time.monotonic()
    context = driver.number("cuDevicePrimaryCtxRetain", device, kind=_HANDLE)
    module, memory = None, []
    try:
        driver.call("cuCtxSetCurrent", context)
        module = driver.number("cuModuleLoadData", ptx_for(capability).encode("ascii"), kind=_HANDLE)
        kernel = driver.number("cuModuleGetFunction", module, b"edgectl_add", kind=_HANDLE)
        for values in (left, right, found):
            memory.append(driver.number("cuMemAlloc_v2", size, kind=_ADDRESS))
            driver.call("cuMemcpyHtoD_v2", memory[-1], values.buffer_info()[0], size)
        parameters = [*map(_ADDRESS, memory), ctypes.c_uint32(ELEMENTS)]
        pointers = (_HANDLE * len(parameters))(*(ctypes.addressof(one) for one in parameters))
        blocks = (ELEMENTS + THREADS - 1) // THREADS
        driver.call("cuLaunchKernel", kernel, blocks, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
        driver.call("cuCtxSynchronize")
        driver.call("cuMemcpyDtoH_v2", found.buffer_info()[0], memory[2], size)
    finally:
        give_back(driver, device, module, memory)
    compare(expected, found)
    return {"what": "vector add", "elements": ELEMENTS, "seconds": round(time.monotonic() - started, 3)}


def give_back(driver, device, module, memory):
    """Free what was taken. What went wrong before is what counts, so no complaint from here."""
    calls = [("cuMemFree_v2", address) for address in memory]
    calls += [("cuModuleUnload", module)] if module is not None else []
    for name, argument in [*calls, ("cuDevicePrimaryCtxRelease", device)]:
        try:
            driver.call(name, argument)
        except Trouble as trouble:
            print("note: " + trouble.what, file=sys.stderr, flush=True)


def compare(expected, found):
    if expected == found:
        return
    wrong = [i for i, (right, seen) in enumerate(zip(expected, found)) if right != seen]
    first = wrong[0]
    raise Trouble(
        "the GPU computes wrongly",
        f"{len(wrong)} of {len(expected)} sums are wrong; number {first} is {found[first]}, not {expected[first]}",
    )


def device_nodes(platform, root):
    """The GPU's device nodes that are here; Trouble where those that the platform needs are not."""
    patterns = (glob.glob(os.path.join(root, pattern)) for pattern in NODES)
    found = sorted("/" + os.path.relpath(path, root) for paths in patterns for path in paths)
    for needed in NEEDED[platform]:
        if all(glob.glob(os.path.join(root, pattern)) for pattern in needed):
            return found, None
    wanted = " or ".join(", ".join("/" + pattern for pattern in needed) for needed in NEEDED[platform])
    seen = "there is " + ", ".join(found) if found else "none is there"
    variable = "NVIDIA_VISIBLE_DEVICES is {}".format(os.environ.get("NVIDIA_VISIBLE_DEVICES") or "not set")
    trouble = Trouble("the GPU's device nodes are not in the container", f"needed: {wanted}; {seen}; {variable}")
    return found, trouble


def load():
    """NVIDIA's library and the file that it came from."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise Trouble(LIBRARY + " cannot be loaded in the container", str(error)) from None
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = [line.split(None, 5)[-1].strip() for line in maps]
    return library, next((path for path in paths if "libcuda.so" in path), LIBRARY)


def nvidia_smi():
    """What nvidia-smi says of a discrete GPU, or why it says nothing; None where it is not in the container."""
    if shutil.which("nvidia-smi") is None:
        return None
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            query, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": str(error)}
    if done.returncode:
        return {"error": done.stdout.strip() or f"exit code {done.returncode}"}
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    return {"gpus": [dict(zip(("name", "driver", "memory"), row)) for row in rows]}


def check(platform, root="/"):
    """The whole check; its answer is JSON. root: below which dev/ is."""
    started = time.monotonic()
    answer = {
        "schema_version": 1,
        "ok": False,
        "platform": platform,
        "simulated": False,
        "computed": False,
        "visible_devices": os.environ.get("NVIDIA_VISIBLE_DEVICES"),
    }
    problems = []
    answer["nodes"], trouble = device_nodes(platform, root)
    if trouble:
        problems.append(trouble)
    try:
        library, answer["library"] = load()
        if hasattr(library, SIMULATED):
            answer["simulated"] = True
        else:
            driver = Driver(library)
            described, device, capability = describe(driver)
            answer.update(described)
            answer["computation"] = compute(driver, device, capability)
            answer["computed"] = True
    except Trouble as error:
        problems.append(error)
    if platform == "dgpu":
        answer["nvidia_smi"] = nvidia_smi()
    answer["problems"] = [{"what": problem.what, "evidence": problem.evidence} for problem in problems]
    answer["ok"] = not problems
    answer["seconds"] = round(time.monotonic() - started, 3)
    return answer


def main(arguments=None, root="/"):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", choices=sorted(NEEDED), required=True)
    parser.add_argument("--hold", type=float, default=0, metavar="SECONDS", help="stay that long after the answer")
    options = parser.parse_args(arguments)
    # The first process of a container ignores every signal that it has not asked for.
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    # Translated programs would be kept in the home directory, which may not be there or not be writable.
    os.environ.setdefault("CUDA_CACHE_DISABLE", "1")
    answer = check(options.platform, root)
    print(json.dumps(answer), flush=True)
    until = time.monotonic() + options.hold
    while not ended and time.monotonic() < until:
        time.sleep(min(0.2, max(0.0, until - time.monotonic())))
    return 0 if answer["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
