/// The smallest program that there is: three instructions that end it. To start it costs what starting any costs.
#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cookbook/system_check.hpp"

namespace smallest {

#ifdef __aarch64__
constexpr Elf64_Half machine = EM_AARCH64;
constexpr std::array<std::uint32_t, 3> code = {0xd2800000, 0xd2800ba8, 0xd4000001};  // x0 = 0; x8 = exit; svc
#else
constexpr Elf64_Half machine = EM_X86_64;
constexpr std::array<std::uint32_t, 3> code = {0xe7b8ff31, 0x0f000000,
                                               0x00000005};  // edi = 0; eax = exit_group; syscall
#endif

/// A file as the kernel loads it: a header, one segment to map into memory, which is the file itself, and the code.
struct Image {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  std::array<std::uint32_t, 3> instructions;
};

constexpr Elf64_Addr address = 0x400000;  // where it is mapped

inline Image image() {
  Image made{};
  made.header.e_ident[EI_MAG0] = ELFMAG0;
  made.header.e_ident[EI_MAG1] = ELFMAG1;
  made.header.e_ident[EI_MAG2] = ELFMAG2;
  made.header.e_ident[EI_MAG3] = ELFMAG3;
  made.header.e_ident[EI_CLASS] = ELFCLASS64;
  made.header.e_ident[EI_DATA] = ELFDATA2LSB;
  made.header.e_ident[EI_VERSION] = EV_CURRENT;
  made.header.e_type = ET_EXEC;
  made.header.e_machine = machine;
  made.header.e_version = EV_CURRENT;
  made.header.e_entry = address + offsetof(Image, instructions);
  made.header.e_phoff = offsetof(Image, segment);
  made.header.e_ehsize = sizeof made.header;
  made.header.e_phentsize = sizeof made.segment;
  made.header.e_phnum = 1;
  made.segment.p_type = PT_LOAD;
  made.segment.p_flags = PF_R | PF_X;
  made.segment.p_vaddr = address;
  made.segment.p_filesz = sizeof made;
  made.segment.p_memsz = sizeof made;
  made.segment.p_align = 4096;
  made.instructions = code;
  return made;
}

/// The program as a file in memory, under a path by which this process can start it. Gone when the object is.
class Program {
 public:
  Program() : file_(check(memfd_create("smallest_program", MFD_CLOEXEC), "memfd_create")) {
    const Image content = image();
    check(write(file_, &content, sizeof content), "write");
  }
  ~Program() { close(file_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_;
};

}  // namespace smallest
