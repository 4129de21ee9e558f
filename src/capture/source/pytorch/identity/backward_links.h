// From an autograd node back to the op of the forward pass that made it, by the sequence number that both carry.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_BACKWARD_LINKS_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_BACKWARD_LINKS_H_

#include <atomic>
#include <cstdint>

namespace tensortap::pytorch {

struct OpIdentity;

// Thread-safe, without locks. Remembers the latest 131,072 numbers; an older node has no link then.
class BackwardLinks {
 public:
  BackwardLinks();
  ~BackwardLinks();
  BackwardLinks(const BackwardLinks&) = delete;
  BackwardLinks& operator=(const BackwardLinks&) = delete;

  // `identity` ran while `number` was the next sequence number of torch's thread `thread`. The last call counts: composites and ops
  // without a node see a number before the op that takes it.
  void note(uint64_t thread, int64_t number, const OpIdentity* identity);
  // The op whose node has this number, null when it is not known.
  [[nodiscard]] const OpIdentity* find(uint64_t thread, int64_t number) const;

 private:
  struct Link {
    std::atomic<uint64_t> key;
    std::atomic<const OpIdentity*> identity;
  };
  static constexpr uint64_t kLinks = uint64_t{1} << 17;

  Link* links_;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_BACKWARD_LINKS_H_
