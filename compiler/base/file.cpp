// Mapped inputs and atomic outputs; see file.h.
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

namespace dlcb {
namespace {

constexpr const char* kNotRegular = "not a regular file";
constexpr int kMaxLinks = 40;  // as the kernel's own limit

Diagnostic cannot_open(const std::string& path, int error) {
  return diag(DiagKind::CannotOpen, {path, std::strerror(error)});
}

// Temporary files that exist now. The lock is held while one is created, renamed or removed, so that the list is true
// whenever it can be taken. Never destroyed: a thread may still use it while the process exits.
struct Unfinished {
  std::mutex mutex;
  std::set<std::string> paths;
};
Unfinished& unfinished() {
  static auto* const list = new Unfinished;
  return *list;
}

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter = 0;
  return path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
}

// The file that a rename must replace for `path` to get new contents: what it leads to once symbolic links are
// followed, which need not exist. Anything there but a regular file is refused: a rename would remove a pipe or a
// device.
Result<std::string> replaceable(const std::string& path) {
  const auto refuse = [&](const char* why) { return diag(DiagKind::CannotWrite, {path, why}); };
  std::string target = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    struct stat status = {};
    if (::lstat(target.c_str(), &status) != 0) {
      if (errno == ENOENT) return target;
      return refuse(std::strerror(errno));
    }
    if (S_ISREG(status.st_mode)) return target;
    if (!S_ISLNK(status.st_mode)) return refuse(S_ISDIR(status.st_mode) ? std::strerror(EISDIR) : kNotRegular);
    std::error_code error;
    const std::filesystem::path to = std::filesystem::read_symlink(target, error);
    if (error) return refuse(std::strerror(error.value()));
    target = (std::filesystem::path(target).parent_path() / to).string();
  }
  return refuse(std::strerror(ELOOP));
}

// Writes all of it, continuing after short writes and interruptions; 0 or errno.
int write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    ssize_t n = ::write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return 0;
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NONBLOCK: a pipe without writer must not hang
  if (fd < 0) return cannot_open(path, errno);
  struct stat status = {};
  int error = ::fstat(fd, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  if (error == 0 && !S_ISREG(status.st_mode)) {
    ::close(fd);
    return diag(DiagKind::CannotOpen, {path, kNotRegular});
  }
  MappedFile file;
  if (error == 0 && status.st_size > 0) {
    void* data = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      error = errno;
    } else {
      file.data_ = static_cast<const std::byte*>(data);
      file.size_ = static_cast<size_t>(status.st_size);
    }
  }
  ::close(fd);
  if (error != 0) return cannot_open(path, error);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  AtomicFile file;
  file.path_ = path;
  DLCB_ASSIGN(file.target_, replaceable(path));
  const std::string temporary = temporary_name(file.target_);
  std::lock_guard lock(unfinished().mutex);
  file.fd_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file.fd_ < 0) return file.failure(errno);
  file.temporary_ = temporary;
  unfinished().paths.insert(temporary);
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(temporary_, other.temporary_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (temporary_.empty()) return;
  std::lock_guard lock(unfinished().mutex);
  ::unlink(temporary_.c_str());
  unfinished().paths.erase(std::exchange(temporary_, {}));
}

Diagnostic AtomicFile::failure(int error) const { return diag(DiagKind::CannotWrite, {path_, std::strerror(error)}); }

Status AtomicFile::write(const void* data, size_t size) {
  DLCB_CHECK(fd_ >= 0, "write after commit or failure");
  if (int error = write_all(fd_, static_cast<const char*>(data), size); error != 0) {
    discard();
    return failure(error);
  }
  size_ += size;
  return ok();
}

Status AtomicFile::write_at(size_t offset, const void* data, size_t size) {
  DLCB_CHECK(fd_ >= 0 && offset + size <= size_, "write_at outside of what was written");
  auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t n = ::pwrite(fd_, bytes, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      int error = errno;
      discard();
      return failure(error);
    }
    bytes += n;
    offset += static_cast<size_t>(n);
    size -= static_cast<size_t>(n);
  }
  return ok();
}

int AtomicFile::move_to_target() {
  if (temporary_.empty()) return 0;  // published before
  std::lock_guard lock(unfinished().mutex);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return errno;
  unfinished().paths.erase(std::exchange(temporary_, {}));
  return 0;
}

Status AtomicFile::commit() {
  DLCB_CHECK(fd_ >= 0, "commit after commit or failure");
  int error = ::close(std::exchange(fd_, -1)) != 0 ? errno : 0;  // some file systems report a full disk only here
  if (error == 0) error = move_to_target();
  if (error == 0) return ok();
  discard();
  return failure(error);
}

Status AtomicFile::publish() {
  DLCB_CHECK(fd_ >= 0, "publish after commit or failure");
  const int error = move_to_target();
  if (error == 0) return ok();
  discard();
  return failure(error);
}

void remove_unfinished_files() {
  unfinished().mutex.lock();  // for good: nothing may be created or finished any more
  for (const std::string& path : unfinished().paths) ::unlink(path.c_str());
}

Result<std::string> read_file(const std::string& path) {
  DLCB_ASSIGN(MappedFile file, MappedFile::open(path));
  return std::string(file.text());
}

Status write_file(const std::string& path, std::string_view bytes) {
  DLCB_ASSIGN(AtomicFile file, AtomicFile::create(path));
  DLCB_TRY(file.write(bytes));
  return file.commit();
}

}  // namespace dlcb
