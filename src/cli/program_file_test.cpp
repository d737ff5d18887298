#include "cli/program_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace graphtag::cli {
namespace {

class ProgramFile : public testing::Test {
 protected:
  ProgramFile() { std::filesystem::create_directories(folder_); }
  ~ProgramFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content, mode_t mode = 0755) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), mode);
    return path;
  }
  // An ELF file with one program header of this type.
  static std::string elf(std::uint32_t segment, unsigned char word_size = ELFCLASS64) {
    Elf64_Ehdr own{}, head{};
    std::ifstream self("/proc/self/exe", std::ios::binary);
    self.read(reinterpret_cast<char*>(&own), sizeof own);
    head = own;
    head.e_ident[EI_CLASS] = word_size;
    head.e_phnum = 1;
    head.e_phoff = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    Elf64_Phdr program{};
    program.p_type = segment;
    std::string bytes(sizeof head + sizeof program, '\0');
    std::memcpy(bytes.data(), &head, sizeof head);
    std::memcpy(bytes.data() + sizeof head, &program, sizeof program);
    return bytes;
  }
  std::string found(const std::string& name, const std::string& path) {
    const auto result = find_program(name, path);
    return std::holds_alternative<std::string>(result) ? std::get<std::string>(result)
                                                       : std::to_string(std::get<CannotRun>(result).exit_code);
  }

  const std::string folder_ = testing::TempDir() + "program_file_" + std::to_string(getpid());
};

TEST_F(ProgramFile, IsFoundAsAShellFindsIt) {
  const std::string program = write("program", "#!/bin/sh\n");
  write("data", "text", 0644);
  EXPECT_EQ(found("program", "/nowhere:" + folder_), program);
  EXPECT_EQ(found(program, ""), program);
  EXPECT_EQ(found("nothing", folder_), "127");
  EXPECT_EQ(found("./no/such/program", folder_), "127");
  EXPECT_EQ(found(program + "/program", ""), "127") << "a file is no folder";
  EXPECT_EQ(found("data", folder_), "126");
  EXPECT_EQ(found(folder_, ""), "126") << "a folder";
}

TEST_F(ProgramFile, ThatIsStaticallyLinkedIsKnown) {
  EXPECT_EQ(linkage_of("/proc/self/exe", ""), Linkage::dynamic);
  EXPECT_EQ(linkage_of(write("dynamic", elf(PT_INTERP)), ""), Linkage::dynamic);
  EXPECT_EQ(linkage_of(write("fixed", elf(PT_LOAD)), ""), Linkage::fixed);
  EXPECT_EQ(linkage_of(write("other", elf(PT_INTERP, ELFCLASS32)), ""), Linkage::other_machine);
  EXPECT_EQ(linkage_of(write("text", "echo hello"), ""), Linkage::dynamic);
  EXPECT_EQ(linkage_of(write("empty", ""), ""), Linkage::dynamic);
  EXPECT_EQ(linkage_of("/no/such/file", ""), Linkage::dynamic);
  EXPECT_EQ(linkage_of(write("cut", elf(PT_LOAD).substr(0, 70)), ""), Linkage::dynamic) << "the system will say what is wrong";
}

TEST_F(ProgramFile, OfAScriptIsItsInterpreter) {
  const std::string fixed = write("fixed", elf(PT_LOAD));
  EXPECT_EQ(linkage_of(write("script", "#!" + fixed + " -x\nrest"), ""), Linkage::fixed);
  EXPECT_EQ(linkage_of(write("spaced", "#! " + fixed + "\n"), ""), Linkage::fixed);
  EXPECT_EQ(linkage_of(write("through_env", "#!/usr/bin/env fixed\n"), folder_), Linkage::fixed);
  EXPECT_EQ(linkage_of(write("nested", "#!" + folder_ + "/script\n"), ""), Linkage::fixed);
  EXPECT_EQ(linkage_of(write("circle", "#!" + folder_ + "/circle\n"), ""), Linkage::dynamic);
}

}  // namespace
}  // namespace graphtag::cli
