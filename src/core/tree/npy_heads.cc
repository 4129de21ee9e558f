#include "tree/npy_heads.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>
#include <thread>

namespace tensortap {
namespace {

constexpr size_t kWorthAThread = 4096;  // files

// A folder of the tree, open while its files are read.
class OpenFolder {
 public:
  OpenFolder() = default;
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;
  ~OpenFolder() { change(-1); }
  void open(const std::string& path) { change(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  void change(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  int fd_ = -1;
};

void read_some(const Tree& tree, size_t begin, size_t end, std::vector<FileHead>& heads) {
  OpenFolder folder;
  uint32_t number = 0;
  std::string name;
  for (size_t i = begin; i < end; ++i) {
    const TreeFile& file = tree.files[i];
    if (i == begin || file.folder != number) folder.open(tree.folders[file.folder].path);
    number = file.folder;
    if (folder.fd() < 0) {
      heads[i].damage = "its folder cannot be opened";
      continue;
    }
    name = file.stored;
    Result<NpyHead> head = read_npy_head(folder.fd(), name.c_str());
    if (head.ok()) {
      heads[i].head = *std::move(head);
    } else {
      heads[i].damage = head.status().message();
      heads[i].unsupported = head.status().code() == StatusCode::kUnsupported;
    }
  }
}

}  // namespace

std::vector<FileHead> read_heads(const Tree& tree) {
  std::vector<FileHead> heads(tree.files.size());
  const size_t half = heads.size() < kWorthAThread ? heads.size() : heads.size() / 2;
  std::thread other;
  if (half < heads.size()) {
    try {
      other = std::thread([&] { read_some(tree, half, heads.size(), heads); });
    } catch (const std::system_error&) {
      read_some(tree, half, heads.size(), heads);  // no thread could be started
    }
  }
  read_some(tree, 0, half, heads);
  if (other.joinable()) other.join();
  return heads;
}

}  // namespace tensortap
