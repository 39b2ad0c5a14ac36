// Files as the compiler needs them: inputs are mapped and never copied, outputs appear whole or not at all.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dlcb {

// A whole file mapped read-only. Move-only; the bytes live as long as the object. An empty file has size 0.
class MappedFile {
 public:
  // CannotOpen for anything that is not a readable regular file.
  static Result<MappedFile> open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Writes beside `path` under a temporary name and renames on commit(), so a reader never sees half a file and a failed
// run leaves none. A symbolic link stays: what it leads to is replaced. Uncommitted files are removed on destruction
// and by remove_unfinished_files(). Not fsynced: this guards against our own failures, not against power cuts.
// Move-only; one thread at a time.
class AtomicFile {
 public:
  // Creates the temporary file; CannotWrite if that fails or if something that is not a regular file is there, so a bad
  // path is found before any work is done.
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Status write(const void* data, size_t size);
  Status write(std::string_view bytes) { return write(bytes.data(), bytes.size()); }
  // Overwrites bytes already written (a header whose sizes are known last).
  Status write_at(size_t offset, const void* data, size_t size);
  size_t size() const { return size_; }  // bytes written so far
  // Renames onto the target. Nothing may be written afterwards.
  Status commit();
  // The same, but more may be written, which is appended where readers of the target see it. Never undone: the file is
  // no longer temporary.
  Status publish();

 private:
  AtomicFile() = default;
  void discard();
  int move_to_target();  // 0 or errno
  Diagnostic failure(int error) const;

  std::string path_, target_;  // as given, and with symbolic links followed
  std::string temporary_;      // empty once renamed or removed
  int fd_ = -1;
  size_t size_ = 0;
};

// For a process that is about to end, whatever its other threads do: removes the file of every AtomicFile, and lets
// none be created or committed from now on (such calls never return). Takes a lock: not for signal handlers.
void remove_unfinished_files();

// For small files. CannotOpen, CannotWrite.
Result<std::string> read_file(const std::string& path);
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace dlcb
