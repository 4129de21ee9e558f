// Where exceptions of the standard library end, all of them for want of memory, before a host program could see them.

#ifndef TENSORTAP_BASE_GUARDED_H_
#define TENSORTAP_BASE_GUARDED_H_

namespace tensortap {

// What `call` returns, `otherwise` when it throws.
template <class Result, class Call>
Result guarded(Result otherwise, Call&& call) noexcept {
  try {
    return call();
  } catch (...) {
    return otherwise;
  }
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_GUARDED_H_
