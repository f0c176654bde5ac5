/// Which of the libraries are installed, and which devices they know. Each answer is a text for people; empty: not
/// found.
#pragma once

#if __has_include(<boost/version.hpp>)
#include <boost/version.hpp>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "look.hpp"

namespace libraries {

inline std::string boost() {
#ifdef BOOST_VERSION
  return fmt::format("version {}.{}", BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000);
#else
  return "";
#endif
}

inline std::string tbb() {
  return in_a_child([]() -> std::string {
    const Library library("libtbb.so.12");
    if (!library) return "";
    return fmt::format("version {}", library.call<const char*>("TBB_runtime_version"));
  });
}

inline std::string mpi() {
  return in_a_child([]() -> std::string {
    const Library library("libmpi.so.40");
    if (!library) return "";
    char text[8192] = "";  // MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI, 8192 in others
    int length = 0;
    library.call<int>("MPI_Get_library_version", text, &length);
    return std::string(text).substr(0, std::string(text).find(','));
  });
}

inline std::string rabbitmq() {
  return in_a_child([]() -> std::string {
    const Library library("librabbitmq.so.4");
    return library ? fmt::format("version {}", library.call<const char*>("amqp_version")) : "";
  });
}

/// The platforms, each with its devices, such as "Portable Computing Language: 1".
inline std::string opencl() {
  return in_a_child([]() -> std::string {
    const Library library("libOpenCL.so.1");
    if (!library) return "";
    unsigned count = 0;
    void* platforms[16] = {};
    library.call<int>("clGetPlatformIDs", 16U, platforms, &count);
    std::string text = "the loader";
    for (unsigned i = 0; i < std::min(count, 16U); ++i) {
      constexpr unsigned platform_name = 0x0902;        // CL_PLATFORM_NAME
      constexpr unsigned long any_device = 0xFFFFFFFF;  // CL_DEVICE_TYPE_ALL
      char name[256] = "";
      unsigned devices = 0;
      library.call<int>("clGetPlatformInfo", platforms[i], platform_name, sizeof name, static_cast<void*>(name),
                        static_cast<std::size_t*>(nullptr));
      library.call<int>("clGetDeviceIDs", platforms[i], any_device, 0U, static_cast<void**>(nullptr), &devices);
      text += fmt::format("{} {} with {} device(s)", i == 0 ? ", and" : ",", name, devices);
    }
    return text;
  });
}

/// The devices that NVIDIA's driver knows, such as "NVIDIA H200".
inline std::string cuda() {
  return in_a_child([]() -> std::string {
    const Library driver("libcuda.so.1");
    int devices = 0;
    if (!driver || driver.call<int>("cuInit", 0U) != 0) return "";
    driver.call<int>("cuDeviceGetCount", &devices);
    std::string text;
    for (int i = 0; i < devices; ++i) {
      char name[256] = "";
      driver.call<int>("cuDeviceGetName", name, 256, i);
      text += fmt::format("{}{}", i == 0 ? "" : ", ", name);
    }
    return text;
  });
}

}  // namespace libraries
