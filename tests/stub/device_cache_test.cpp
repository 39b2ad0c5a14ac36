// The cache of host-compiled modules: reuse, damage, concurrent processes, and what goes wrong with compilers and
// texts.
#include <sys/wait.h>

#include <fstream>

#include "device_kernels.h"
#include "device_sim_fixture.h"
#include "runtime_stub/include/dlcb.h"

using namespace dlcb;
using namespace dlcb::testing;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> files(const std::string& folder) {
  std::vector<fs::path> out;
  for (auto& e : fs::directory_iterator(folder)) out.push_back(e.path());
  return out;
}

rt::Error open_reductions(const std::string& folder) {
  std::shared_ptr<rt::Device> device;
  return open_texts({kReductions}, {{"row_sum", 1024}}, folder, &device);
}

}  // namespace

TEST_CASE("a module is compiled once and then found, without a compiler") {
  TempFolder folder;
  REQUIRE(!open_reductions(folder.path));
  REQUIRE(files(folder.path).size() == 1);
  const auto time = fs::last_write_time(files(folder.path)[0]);
  REQUIRE(!open_reductions(folder.path));
  REQUIRE(files(folder.path).size() == 1);
  CHECK(fs::last_write_time(files(folder.path)[0]) == time);
}

TEST_CASE("a damaged module is rebuilt") {
  TempFolder folder;
  REQUIRE(!open_reductions(folder.path));
  const fs::path file = files(folder.path).at(0);
  const auto size = fs::file_size(file);
  SECTION("truncated") { fs::resize_file(file, size / 2); }
  SECTION("empty") { fs::resize_file(file, 0); }
  SECTION("a changed byte") {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(std::streamoff(size / 3));
    const int old = f.peek();
    f.put(char(old ^ 0x40));
  }
  REQUIRE(!open_reductions(folder.path));
  CHECK(fs::file_size(file) == size);
}

TEST_CASE("processes that build the same module at once all succeed and leave one file") {
  TempFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(open_reductions(folder.path) ? 1 : 0);
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  CHECK(files(folder.path).size() == 1);
}

TEST_CASE("several modules are opened together") {
  TempFolder folder;
  std::shared_ptr<rt::Device> device;
  std::vector<std::string> texts;
  std::vector<Entry> entries;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "fill" + std::to_string(i);
    texts.push_back("DLCB_KERNEL(" + name + ", 1)(i32* y) { y[0] = " + std::to_string(i) + "; }\nDLCB_EXPORT(" + name +
                    ", 0)\n");
    entries.push_back({name, 1});
  }
  const rt::Error error = open_texts({texts[0]}, {{"fill0", 1}, {"absent", 1}}, folder.path, &device);
  CHECK(error.status == DLCB_BAD_BUNDLE);
  CHECK(error.message.find("absent") != std::string::npos);
  REQUIRE(open_texts(texts, {{"fill0", 1}}, folder.path, &device).status == DLCB_OK);
  CHECK(files(folder.path).size() == 5);
}

TEST_CASE("what cannot be compiled is said") {
  TempFolder folder;
  std::shared_ptr<rt::Device> device;
  const rt::Error refused = open_texts({"DLCB_KERNEL(k, 1)(i32* y) { nonsense; }"}, {}, folder.path, &device);
  CHECK(refused.status == DLCB_DEVICE_ERROR);
  CHECK(refused.message.find("nonsense") != std::string::npos);
  CHECK(files(folder.path).empty());
  CHECK(open_texts({""}, {}, folder.path, &device).status == DLCB_NO_TARGET);

  Variable none("CXX", "/nonexistent/compiler"), empty("PATH", "/nonexistent");
  CHECK(open_reductions(folder.path).status == DLCB_MISSING_LIBRARY);
}
