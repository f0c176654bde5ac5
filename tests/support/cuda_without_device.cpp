// Takes the place of CUDA's runtime in a program that it is loaded into by LD_PRELOAD. (The build links that runtime as
// a shared library.) The program finds devices that are not there: their memory is the host's, copies are made, but no
// kernel is ever run. So a test can see, on any machine, what the program does when a device refuses it something:
//
//   COOKBOOK_CUDA_DEVICES=N   so many devices; 1 without it
//   COOKBOOK_CUDA_DRIVER=N    a driver for this version of CUDA, such as 13000; 0: there is none
//   COOKBOOK_CUDA_ERROR=N     the question for the number of devices is answered with this error
//   COOKBOOK_CUDA_REFUSED=N   the launch is refused which stands at the Nth place of the program, in the order in which
//                             the places are reached
//   COOKBOOK_CUDA_FULL=N      device N has no memory left
//   COOKBOOK_CUDA_MEMORY=N    no device has so many bytes at a stretch, or more
//   COOKBOOK_CUDA_POISON=N    new memory begins with ints of this value; zeros without it
//   COOKBOOK_CUDA_RECORD=F    appends to this file "not asked" if the program does anything else with CUDA after a
//                             refused launch before it asks for the last error; at the end of the program "place N was
//                             reached M times" for each such place; and "not launched K" for each of its kernels that
//                             was never launched, by its mangled name
//
// The functions are declared here and not by CUDA's headers: those that have nothing to give back ignore what they get,
// and CUDA has given some of them other parameters from version to version.

#include <driver_types.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "interposer.hpp"

namespace {

constexpr cudaError_t refusal = cudaErrorLaunchOutOfResources;  // no lesson brings this one about by itself

int number(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local bool unasked = false;  // a launch was refused, and nobody has asked for the last error since
thread_local int current = 0;       // device
thread_local const void* place = nullptr;

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  void* stream;
};
thread_local Configuration configuration;

void tell(const std::string& what) { record(what, "COOKBOOK_CUDA_RECORD"); }

/// Whatever the program calls, but a question for the last error.
cudaError_t called(cudaError_t result = cudaSuccess) {
  if (unasked) tell("not asked");
  unasked = false;
  if (result != cudaSuccess) last_error = result;
  return result;
}

/// What the program has launched, and what it could have.
class Launches {
 public:
  ~Launches() {
    for (const auto& [from, reached] : places_) {
      tell("place " + std::to_string(reached.number) + " was reached " + std::to_string(reached.times) + " times");
    }
    for (const auto& [function, name] : kernels_) tell("not launched " + name);
  }

  void add_kernel(const void* function, const char* name) {
    const std::scoped_lock guard(mutex_);
    kernels_[function] = name;
  }

  /// A launch of the kernel from this place, which is the program's own.
  cudaError_t launch(const void* from, const void* function) {
    called();
    const std::scoped_lock guard(mutex_);
    kernels_.erase(function);
    Place& reached = places_.try_emplace(from, static_cast<int>(places_.size()) + 1).first->second;
    ++reached.times;
    return reached.number == number("COOKBOOK_CUDA_REFUSED", 0) ? last_error = refusal : cudaSuccess;
  }

 private:
  struct Place {
    int number, times = 0;
    explicit Place(int its_number) : number(its_number) {}
  };
  std::mutex mutex_;
  std::map<const void*, Place> places_;
  std::map<const void*, std::string> kernels_;  // not launched yet
};

/// Made when the first kernel is registered, before main().
Launches& launches() {
  static Launches all;
  return all;
}

cudaError_t launch(const void* from, const void* kernel = nullptr) { return launches().launch(from, kernel); }

/// Memory of which a program may have more than the host: what nobody writes takes none.
cudaError_t allocate(void** data, std::size_t size) {
  *data = nullptr;
  const char* const limit = std::getenv("COOKBOOK_CUDA_MEMORY");
  if (current == number("COOKBOOK_CUDA_FULL", -1) || (limit != nullptr && size >= std::strtoull(limit, nullptr, 10))) {
    return called(cudaErrorMemoryAllocation);
  }
  const std::size_t head = 4096;  // for the size
  void* const found =
      mmap(nullptr, size + head, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return called(cudaErrorMemoryAllocation);
  *static_cast<std::size_t*>(found) = size + head;
  *data = static_cast<char*>(found) + head;
  if (const int poison = number("COOKBOOK_CUDA_POISON", 0); poison != 0) {
    std::fill_n(static_cast<int*>(*data), std::min<std::size_t>(size, 4096) / sizeof(int), poison);
  }
  return called();
}

cudaError_t release(void* data) {
  if (data == nullptr) return called();
  void* const start = static_cast<char*>(data) - 4096;
  munmap(start, *static_cast<std::size_t*>(start));
  return called();
}

/// Within the device's memory nothing has a value that anybody would look at.
cudaError_t copy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  if (kind != cudaMemcpyDeviceToDevice) std::memcpy(to, from, size);
  return called();
}

cudaError_t set(void* data, int value, std::size_t size) {
  std::memset(data, value, size);
  return called();
}

/// Something to point at, for a stream, an event or a graph.
cudaError_t make(void** handle) {
  static char something;
  *handle = &something;
  return called();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

cudaError_t cudaGetLastError() {
  unasked = false;
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() {
  unasked = false;
  return last_error;
}

// Launches. <<<...>>> calls the first of these itself, and the others by a function of the kernel.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  place = __builtin_return_address(0);
  configuration = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void** stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared = configuration.shared;
  *stream = configuration.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return cudaSuccess;
}
void __cudaRegisterFunction(void** handle, const char* function, char* device_function, const char* name, int limit,
                            void* thread, void* block, void* block_size, void* grid_size, int* warp) {
  launches().add_kernel(function, name);
  hidden<void (*)(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*)>(
      "__cudaRegisterFunction")(handle, function, device_function, name, limit, thread, block, block_size, grid_size,
                                warp);
}
cudaError_t __cudaLaunchKernel(void* kernel, dim3, dim3, void**, std::size_t, void*) {
  const cudaError_t error = launch(place, kernel);
  unasked = error != cudaSuccess;
  return error;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3, dim3, void**, std::size_t, void*) {
  const cudaError_t error = launch(place, kernel);
  unasked = error != cudaSuccess;
  return error;
}
// These return to the program whether they were refused.
cudaError_t cudaLaunchKernelExC(const void*, const void* kernel, void**) {
  return launch(__builtin_return_address(0), kernel);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3, dim3, void**, std::size_t, void*) {
  return launch(__builtin_return_address(0), kernel);
}

// The driver's functions, for a program that asks for them by name.
static int launch_by_driver() { return launch(__builtin_return_address(0)); }
static int driver_text(int, const char** text) {
  *text = "too many resources requested for launch";
  return 0;
}
static int done_by_driver() { return called(); }
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             int* status) {
  const std::string wanted = name;
  *function = reinterpret_cast<void*>(&done_by_driver);
  if (wanted == "cuLaunchKernel") *function = reinterpret_cast<void*>(&launch_by_driver);
  if (wanted == "cuGetErrorString") *function = reinterpret_cast<void*>(&driver_text);
  if (status != nullptr) *status = cudaDriverEntryPointSuccess;
  return called();
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, flags, status);
}

// Devices.
static int driver() { return number("COOKBOOK_CUDA_DRIVER", 99'000); }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = number("COOKBOOK_CUDA_DEVICES", 1);
  int runtime = 0;
  hidden<cudaError_t (*)(int*)>("cudaRuntimeGetVersion")(&runtime);
  if (driver() / 1000 < runtime / 1000) return called(cudaErrorInsufficientDriver);
  const auto otherwise = static_cast<cudaError_t>(number("COOKBOOK_CUDA_ERROR", cudaSuccess));
  return called(*count == 0 ? cudaErrorNoDevice : otherwise);
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return called();
}
cudaError_t cudaSetDevice(int device) {
  current = device;
  return called();
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver();
  return called();
}
static cudaError_t properties_of(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= number("COOKBOOK_CUDA_DEVICES", 1)) return called(cudaErrorInvalidDevice);
  std::memset(static_cast<void*>(properties), 0, sizeof *properties);
  std::strcpy(properties->name, "no device");
  properties->major = 9;
  properties->warpSize = 32;
  properties->multiProcessorCount = 2;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->totalGlobalMem = std::size_t{1} << 36;
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerMultiprocessor = properties->sharedMemPerBlockOptin = 227 << 10;
  properties->l2CacheSize = 1 << 20;
  return called();
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return properties_of(properties, device);
}
cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int device) {
  return properties_of(properties, device);
}
cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int) {
  const std::map<int, int> known = {{cudaDevAttrComputeCapabilityMajor, 9},
                                    {cudaDevAttrComputeCapabilityMinor, 0},
                                    {cudaDevAttrMultiProcessorCount, 2},
                                    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 << 10},
                                    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 227 << 10},
                                    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
                                    {cudaDevAttrL2CacheSize, 1 << 20},
                                    {cudaDevAttrClockRate, 1'500'000},
                                    {cudaDevAttrMemoryClockRate, 2'500'000},
                                    {cudaDevAttrGlobalMemoryBusWidth, 4096}};
  const auto found = known.find(attribute);
  *value = found != known.end() ? found->second : 1;
  return called();
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return called();
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  std::memset(static_cast<void*>(attributes), 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = COOKBOOK_CUDA_OLDEST;  // CUB has code for what was compiled
  return called();
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 2;
  return called();
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
  *blocks = 2;
  return called();
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const void*) {
  *clusters = 2;
  return called();
}

// Memory.
cudaError_t cudaMalloc(void** data, std::size_t size) { return allocate(data, size); }
cudaError_t cudaMallocAsync(void** data, std::size_t size, void*) { return allocate(data, size); }
cudaError_t cudaMallocManaged(void** data, std::size_t size, unsigned) { return allocate(data, size); }
cudaError_t cudaMallocHost(void** data, std::size_t size) { return allocate(data, size); }
cudaError_t cudaHostAlloc(void** data, std::size_t size, unsigned) { return allocate(data, size); }
cudaError_t cudaFree(void* data) { return release(data); }
cudaError_t cudaFreeAsync(void* data, void*) { return release(data); }
cudaError_t cudaFreeHost(void* data) { return release(data); }
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  return copy(to, from, size, kind);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, void*) {
  return copy(to, from, size, kind);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  for (std::size_t i = 0; i < height; ++i) {
    copy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width, kind);
  }
  return called();
}
cudaError_t cudaMemset(void* data, int value, std::size_t size) { return set(data, value, size); }
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t size, void*) { return set(data, value, size); }
cudaError_t cudaMemPoolGetAttribute(void*, int, void* value) {
  std::memset(value, 0, sizeof(std::uint64_t));
  return called();
}
cudaError_t cudaDeviceGetDefaultMemPool(void** pool, int) { return make(pool); }

// Streams, events and graphs.
cudaError_t cudaStreamCreate(void** stream) { return make(stream); }
cudaError_t cudaStreamCreateWithFlags(void** stream, unsigned) { return make(stream); }
cudaError_t cudaEventCreate(void** event) { return make(event); }
cudaError_t cudaEventCreateWithFlags(void** event, unsigned) { return make(event); }
cudaError_t cudaStreamEndCapture(void*, void** graph) { return make(graph); }
cudaError_t cudaGraphInstantiate(void** ready, void*, unsigned long long) { return make(ready); }
cudaError_t cudaEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 1;
  return called();
}
cudaError_t cudaEventElapsedTime_v2(float* milliseconds, void*, void*) {
  return cudaEventElapsedTime(milliseconds, 0, 0);
}
cudaError_t cudaGraphGetNodes(void*, void*, std::size_t* count) {
  *count = 0;
  return called();
}

// What is no more than done.
#define DONE(name) \
  cudaError_t name() { return called(); }
DONE(cudaDeviceSynchronize)
DONE(cudaDeviceEnablePeerAccess)
DONE(cudaFuncSetAttribute)
DONE(cudaHostRegister)
DONE(cudaHostUnregister)
DONE(cudaMemAdvise)
DONE(cudaMemAdvise_v2)
DONE(cudaMemPrefetchAsync)
DONE(cudaMemPrefetchAsync_v2)
DONE(cudaMemPoolSetAttribute)
DONE(cudaMemcpyToSymbol)
DONE(cudaStreamDestroy)
DONE(cudaStreamSynchronize)
DONE(cudaStreamQuery)
DONE(cudaStreamWaitEvent)
DONE(cudaStreamBeginCapture)
DONE(cudaEventRecord)
DONE(cudaEventSynchronize)
DONE(cudaEventQuery)
DONE(cudaEventDestroy)
DONE(cudaGraphLaunch)
DONE(cudaGraphDestroy)
DONE(cudaGraphExecDestroy)

// The libraries' own: what stands between the launches of a program.
cudaError_t cublasCreate_v2(void** handle) { return make(handle); }
DONE(cublasDestroy_v2)
DONE(cublasSetStream_v2)
DONE(cublasGemmEx)
DONE(cublasDgemm_v2)
cudaError_t curandCreateGenerator(void** generator, int) { return make(generator); }
DONE(curandDestroyGenerator)
DONE(curandSetPseudoRandomGeneratorSeed)
DONE(curandGenerateUniform)
DONE(curandGenerateUniformDouble)
cudaError_t cufftPlan2d(int* plan, int, int, int) {
  *plan = 1;
  return called();
}
DONE(cufftExecR2C)
DONE(cufftExecC2R)
DONE(cufftDestroy)
cudaError_t ncclCommInitAll(void** communicators, int count, const int*) {
  for (int i = 0; i < count; ++i) make(communicators + i);
  return called();
}
DONE(ncclCommDestroy)
DONE(ncclAllReduce)
DONE(ncclSend)
DONE(ncclRecv)
DONE(ncclGroupStart)
DONE(ncclGroupEnd)
}
