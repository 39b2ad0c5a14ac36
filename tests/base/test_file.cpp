#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/file.h"
#include "catch.h"
#include "temp_folder.h"

using namespace dlcb;
namespace fs = std::filesystem;

namespace {

struct Folder : testing::TempFolder {
  int entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

}  // namespace

TEST_CASE("a committed file is whole, an uncommitted one leaves nothing") {
  Folder folder;
  {
    auto file = AtomicFile::create(folder.at("a"));
    REQUIRE(file);
    REQUIRE(file->write("half"));
    CHECK_FALSE(fs::exists(folder.at("a")));
    CHECK(folder.entries() == 1);
  }
  CHECK(folder.entries() == 0);
  auto file = AtomicFile::create(folder.at("a"));
  REQUIRE(file);
  REQUIRE(file->write("0000 body"));
  REQUIRE(file->write_at(0, "9", 1));
  AtomicFile moved = std::move(*file);
  CHECK(moved.size() == 9);
  REQUIRE(moved.commit());
  CHECK(*read_file(folder.at("a")) == "9000 body");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a published file takes the place of an older one and grows") {
  Folder folder;
  REQUIRE(write_file(folder.at("a"), "older"));
  auto older = MappedFile::open(folder.at("a"));
  REQUIRE(older);
  {
    auto file = AtomicFile::create(folder.at("a"));
    REQUIRE(file);
    REQUIRE(file->write("1"));
    REQUIRE(file->publish());
    CHECK(*read_file(folder.at("a")) == "1");
    REQUIRE(file->write("2"));
    REQUIRE(file->publish());
  }
  CHECK(*read_file(folder.at("a")) == "12");
  CHECK(older->text() == "older");
  CHECK(folder.entries() == 1);
}

TEST_CASE("paths that cannot be written are refused before any work") {
  Folder folder;
  auto in_missing = AtomicFile::create(folder.at("no/such/a"));
  REQUIRE_FALSE(in_missing);
  CHECK(in_missing.error().kind == DiagKind::CannotWrite);
  CHECK_FALSE(AtomicFile::create(folder.path.string()));
  CHECK(folder.entries() == 0);
}

TEST_CASE("what is not a regular file is left alone") {
  Folder folder;
  REQUIRE(::mkfifo(folder.at("pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder.at("to_pipe"));
  fs::create_symlink("loop", folder.at("loop"));
  fs::create_symlink(".", folder.at("to_folder"));
  for (const char* name : {"pipe", "to_pipe"}) {
    auto refused = AtomicFile::create(folder.at(name));
    REQUIRE_FALSE(refused);
    CHECK(message(refused.error()) == "cannot write '" + folder.at(name) + "': not a regular file");
  }
  CHECK_FALSE(write_file(folder.at("loop"), "text"));
  CHECK_FALSE(write_file(folder.at("to_folder"), "text"));
  CHECK(fs::is_fifo(folder.at("pipe")));
  CHECK(fs::is_symlink(folder.at("to_pipe")));
  CHECK(folder.entries() == 4);
}

TEST_CASE("a symbolic link stays and what it leads to is replaced") {
  Folder folder;
  fs::create_directory(folder.at("inside"));
  REQUIRE(write_file(folder.at("inside/old"), "old"));
  fs::create_symlink("inside/old", folder.at("to_old"));
  fs::create_symlink(folder.at("to_old"), folder.at("inside/twice"));
  fs::create_symlink("inside/new", folder.at("to_new"));
  REQUIRE(write_file(folder.at("inside/twice"), "first"));
  CHECK(*read_file(folder.at("inside/old")) == "first");
  REQUIRE(write_file(folder.at("to_new"), "second"));
  CHECK(*read_file(folder.at("inside/new")) == "second");
  for (const char* name : {"to_old", "inside/twice", "to_new"}) CHECK(fs::is_symlink(folder.at(name)));
  CHECK(folder.entries() == 3);
}

TEST_CASE("a process that ends can remove all unfinished files") {
  Folder folder;
  pid_t child = ::fork();
  if (child == 0) {
    auto file = AtomicFile::create(folder.at("a"));
    auto done = AtomicFile::create(folder.at("b"));
    auto dropped = std::make_optional(AtomicFile::create(folder.at("c")));
    dropped.reset();
    (void)file->write("half");
    (void)done->commit();
    remove_unfinished_files();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(folder.entries() == 1);
  CHECK(fs::exists(folder.at("b")));
}

TEST_CASE("mapping refuses what is not a readable file") {
  Folder folder;
  CHECK(message(MappedFile::open(folder.at("none")).error()) ==
        "cannot open '" + folder.at("none") + "': No such file or directory");
  CHECK_FALSE(MappedFile::open(folder.path.string()));
  ::mkfifo(folder.at("pipe").c_str(), 0600);
  CHECK_FALSE(MappedFile::open(folder.at("pipe")));
  REQUIRE(write_file(folder.at("empty"), ""));
  auto empty = MappedFile::open(folder.at("empty"));
  REQUIRE(empty);
  CHECK(empty->size() == 0);
}

TEST_CASE("mapped files move") {
  Folder folder;
  REQUIRE(write_file(folder.at("a"), "text"));
  MappedFile file;
  {
    auto opened = MappedFile::open(folder.at("a"));
    REQUIRE(opened);
    file = std::move(*opened);
  }
  CHECK(file.text() == "text");
  MappedFile other(std::move(file));
  CHECK(other.text() == "text");
  CHECK(file.size() == 0);
}
