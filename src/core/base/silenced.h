// Stops exceptions before they reach the host program. Only the standard library throws, when memory runs out.

#ifndef TENSORTAP_BASE_SILENCED_H_
#define TENSORTAP_BASE_SILENCED_H_

namespace tensortap {

// What `call` returns, `otherwise` when it throws.
template <class Result, class Call>
Result silenced(Result otherwise, Call&& call) noexcept {
  try {
    return call();
  } catch (...) {
    return otherwise;
  }
}

}  // namespace tensortap

#endif  // TENSORTAP_BASE_SILENCED_H_
