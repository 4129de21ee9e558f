#include "source/pytorch/identity/backward_links.h"

#include <sys/mman.h>

namespace tensortap::pytorch {
namespace {

uint64_t key_of(uint64_t thread, int64_t number) { return (thread << 48U) ^ (static_cast<uint64_t>(number) + 1); }

}  // namespace

BackwardLinks::BackwardLinks() {
  void* memory = mmap(nullptr, kLinks * sizeof(Link), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  links_ = memory == MAP_FAILED ? nullptr : static_cast<Link*>(memory);
}

BackwardLinks::~BackwardLinks() {
  if (links_ != nullptr) munmap(links_, kLinks * sizeof(Link));
}

void BackwardLinks::note(uint64_t thread, int64_t number, const OpIdentity* identity) {
  if (links_ == nullptr || number < 0) return;
  Link& link = links_[static_cast<uint64_t>(number) % kLinks];
  link.identity.store(identity, std::memory_order_relaxed);
  link.key.store(key_of(thread, number), std::memory_order_release);
}

const OpIdentity* BackwardLinks::find(uint64_t thread, int64_t number) const {
  if (links_ == nullptr || number < 0) return nullptr;
  const Link& link = links_[static_cast<uint64_t>(number) % kLinks];
  if (link.key.load(std::memory_order_acquire) != key_of(thread, number)) return nullptr;
  return link.identity.load(std::memory_order_relaxed);
}

}  // namespace tensortap::pytorch
