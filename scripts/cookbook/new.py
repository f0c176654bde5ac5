"""Makes a new recipe that builds and passes at once: program, page, test, and its line in the chapter's CMakeLists.txt.

For example: scripts/new_recipe 02_threads spin_lock. chapters/README.md says what a recipe is.
"""
import re

import cookbook
from cookbook import recipe
from cookbook.command import Parser, Problem, shown

MAIN = """\
// {title}
//
// Three to six lines: what the reader will see, and why.
//
// Compile: {compile}
// Run:     {run}

{includes}
namespace {{

{function}
}}  // namespace

int main(int argc, char** argv) {{
  int items = 10;
  cookbook::Options options("{title}");
  options.add("items", items, "items to process", 1, 1000);
  options.parse(argc, argv);
{body}}}
"""

COMMON_INCLUDES = """\
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
"""

PLAIN = dict(
    needs="", compiler="g++", libraries=" -pthread", launcher="", ending="cpp", includes=COMMON_INCLUDES,
    function="int doubled(int items) { return 2 * items; }\n",
    excerpt="int doubled(int items) { return 2 * items; }",
    body="""
  cookbook::Checks checks;
  checks.equal("items doubled", doubled(items), items + items);
  return checks.exit_code();
""",
    transcript="ok    items doubled: 20", expected="ok    items doubled: 42",
    start='run("{name}", {{"--items", "21"}})')

MPI = dict(
    PLAIN, needs=" NEEDS mpi RUN mpi 4", compiler="mpicxx", libraries="", launcher="mpirun -n 4 ",
    includes=COMMON_INCLUDES.replace('#include "cookbook/options', '#include "cookbook/mpi.hpp"\n#include "cookbook/options'),
    function="int share_of(int rank, int items) { return (rank + 1) * items; }\n",
    excerpt="int share_of(int rank, int items) { return (rank + 1) * items; }",
    body="""
  const mpi::Environment world;
  const int mine = share_of(world.rank(), items);
  int sum = 0;
  MPI_CHECK(MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));

  cookbook::Checks checks;
  if (world.rank() == 0) checks.equal("sum of all shares", sum, items * world.size() * (world.size() + 1) / 2);
  return world.exit_code(checks);
""",
    transcript="ok    sum of all shares: 100", start='run_ranks(3, "{name}", {{"--items", "2"}})',
    expected="ok    sum of all shares: 12")

CUDA = dict(
    PLAIN, needs=" NEEDS cuda", compiler="nvcc", libraries="", ending="cu",
    includes=COMMON_INCLUDES.replace('#include "cookbook/options', '#include "cookbook/cuda.hpp"\n#include "cookbook/options'),
    function="__global__ void doubled(int* value) { *value *= 2; }\n",
    excerpt="__global__ void doubled(int* value) { *value *= 2; }",
    body="""  if (!gpu::device_found()) return gpu::skipped;

  int result = 0;
  int* value;
  CUDA_CHECK(cudaMalloc(&value, sizeof(int)));
  CUDA_CHECK(cudaMemcpy(value, &items, sizeof(int), cudaMemcpyHostToDevice));
  doubled<<<1, 1>>>(value);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(&result, value, sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaFree(value));

  cookbook::Checks checks;
  checks.equal("items doubled", result, items + items);
  return checks.exit_code();
""")

OPENCL = dict(
    PLAIN, needs=" NEEDS opencl USES pocl", libraries=" -lOpenCL",
    includes=COMMON_INCLUDES.replace('#include "cookbook/options', '#include "cookbook/opencl.hpp"\n#include "cookbook/options'),
    function="""\
cl_int doubled_on(const cl::Device& device, cl_int items) {
  const cl::Context context = CL_CHECK(cl::Context(device));
  const cl::CommandQueue queue = CL_CHECK(cl::CommandQueue(context, device));
  const cl::Program program = opencl::build(context, opencl::read_kernels(opencl::beside(__FILE__, "NAME.cl")));
  cl::Kernel kernel = CL_CHECK(cl::Kernel(program, "doubled"));
  const cl::Buffer buffer =
      CL_CHECK(cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof items, &items));
  CL_CHECK(kernel.setArg(0, buffer));
  CL_CHECK(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1)));
  CL_CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, sizeof items, &items));
  return items;
}
""",
    excerpt="kernel void doubled(global int* value) { *value *= 2; }",
    body="""
  cookbook::Checks checks;
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device(checks);
  checks.equal("items doubled", doubled_on(devices.front(), items), items + items);
  return checks.exit_code();
""",
    kernels="kernel void doubled(global int* value) { *value *= 2; }\n")

SCRIPT = dict(
    PLAIN, needs=" RUN script PROGRAMS {name}_worker", start='run_parts("{chapter}/{name}", {{"--items", "21"}})')

KINDS = {"plain": PLAIN, "mpi": MPI, "cuda": CUDA, "opencl": OPENCL, "script": SCRIPT}

WORKER = """\
// {title}: the worker
//
// What this program does for {name}.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/{chapter}/{name}/{name}_worker.cpp common/cookbook/*.cpp -lfmt -pthread -o {name}_worker
// Run:     {name}_worker

#include "cookbook/print.hpp"

int main() {{ cookbook::println("the worker has worked"); }}
"""

RUN_SH = """\
#!/usr/bin/env bash
# Starts the worker, then the program that uses it.
#
# Usage: run.sh BIN [OPTION ...]    BIN is the folder of the executables; the options are those of {name}
set -euo pipefail

bin=${{1?usage: run.sh BIN [OPTION ...]}}
"$bin/{name}_worker" >/dev/null
exec "$bin/{name}" "${{@:2}}"
"""

BENCH = """\
// {title}: the measurement
//
// Measures ... beside ...
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/{chapter}/{name}/{name}_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o {name}_bench
// Run:     {name}_bench [--items N] [--rounds N]

#include <numeric>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {{
  int items = 1'000'000, rounds = 9;
  cookbook::Options options("Measure ...");
  options.add("items", items, "items to process", 1'000, 100'000'000);
  options.add("rounds", rounds, "times that each row is measured", 1, 1000);
  options.parse(argc, argv);
  cookbook::require_memory(8.0 * items, "--items " + std::to_string(items));

  std::vector<long> numbers(static_cast<std::size_t>(items));
  std::iota(numbers.begin(), numbers.end(), 1);
  long sum = 0;
  const auto add_up = [&] {{ sum = std::accumulate(numbers.begin(), numbers.end(), 0L); }};
  add_up();
  cookbook::Checks checks;
  checks.equal("sum", sum, static_cast<long>(items) * (items + 1L) / 2);

  cookbook::Figures figures("Sum", cookbook::rate("GB/s", 1e9));
  figures.percent_of("plain loop");
  figures.measure({{{{"plain loop", 8.0 * items, add_up}}}}, rounds);
  figures.print(checks);
  return checks.exit_code();
}}
"""

PAGE = """\
# {title}

One to three sentences: what the reader gets from this page.

**Read first:** [the chapter's page](../README.md). **Time:** 10 minutes.

```{language}
{excerpt}
```

The question that the output answers, and what is compared with what:

```console
$ scripts/run {name}
{transcript}
```

## Why, under a heading of its own

## Pitfall

## Exercises

1. The first exercise.

<details><summary>Answers</summary>

1. Its answer.

</details>

## From Python

| Python | C++ |
| ------ | --- |
|        |     |

## See also
"""

TEST = """\
// {title}: the program's output.

#include "support/run.hpp"

namespace {{

using test_support::{function};

TEST({name}, processes_every_item) {{
  const auto result = {start};
{skip}  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("{expected}")) << result.text();
}}

}}  // namespace
"""


def write_all(chapter, name, kind, bench):
    """Writes the files of the recipe; returns their paths."""
    folder = cookbook.ROOT / "chapters" / chapter
    title = name.replace("_", " ").capitalize()
    words = {"title": title, "name": name, "chapter": chapter}
    what = {key: value.replace("NAME", name) for key, value in KINDS[kind].items()}
    program = f"{name}.{what['ending']}"
    compile_line = (f"{what['compiler']} -std=c++20 -O2 -Icommon chapters/{chapter}/{name}/{program} common/cookbook/*.cpp "
                    f"-lfmt{what['libraries']} -o {name}")
    files = {
        folder / name / program: MAIN.format(
            **words, compile=compile_line, run=f"{what['launcher']}{name} [--items N]", includes=what["includes"],
            function=what["function"], body=what["body"]),
        folder / name / "README.md": PAGE.format(
            **words, excerpt=what["excerpt"], transcript=what["transcript"],
            language={"cuda": "cuda", "opencl": "c"}.get(kind, "cpp")),
        cookbook.ROOT / "tests" / chapter / f"{name}_test.cpp": TEST.format(
            **words, start=what["start"].format(**words), expected=what["expected"],
            function=what["start"].split("(")[0],
            skip="  if (result.exit_code == 77) GTEST_SKIP() << result.text();\n" * (kind in ("cuda", "opencl"))),
    }
    if kind == "opencl":
        files[folder / name / f"{name}.cl"] = what["kernels"]
    if kind == "script":
        files[folder / name / f"{name}_worker.cpp"] = WORKER.format(**words)
        files[folder / name / "run.sh"] = RUN_SH.format(**words)
    if bench:
        files[folder / name / f"{name}_bench.cpp"] = BENCH.format(**words)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if path.name == "run.sh":
            path.chmod(0o755)
    listing = folder / "CMakeLists.txt"
    before = listing.read_text() if listing.exists() else ""
    listing.write_text(before + f"recipe({name}{what['needs'].format(**words)})\n")
    return [*files, listing]


def parser():
    result = Parser("new_recipe", __doc__)
    result.add_argument("--kind", choices=KINDS, default="plain", help="mpi: started by mpirun; opencl: with a .cl file; "
                        "script: several programs, and a run.sh that starts them")
    result.add_argument("--bench", action="store_true", help="also a measurement, NAME_bench.cpp (not for cuda and opencl, "
                        "whose devices' work needs their own clocks)")
    result.add_argument("chapter", metavar="CHAPTER")
    result.add_argument("name", metavar="NAME")
    return result


def main(arguments):
    args = parser().parse_args(arguments)
    chapter, name, kind = args.chapter, args.name, args.kind
    if args.bench and kind in ("cuda", "opencl"):
        raise Problem(f"no bench for the kind {kind}")
    if not re.fullmatch(r"\d\d_[a-z0-9_]+", chapter) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise Problem("a chapter is like 02_threads, a name like spin_lock")
    if name in recipe.names() or (cookbook.ROOT / "chapters" / chapter / name).exists():
        raise Problem(f"there is a recipe {name} already")
    for path in write_all(chapter, name, kind, args.bench):
        print(shown(path))
    print(f"Now: scripts/run {name}; scripts/update_index when its page has a summary; mistakes for scripts/mutate in "
          f"tests/{chapter}/mutations.toml")
    return 0
