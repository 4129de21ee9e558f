// Answer: what the server says to one request, without HTTP.

#ifndef TENSORTAP_SERVE_ANSWER_H_
#define TENSORTAP_SERVE_ANSWER_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/status.h"

namespace tensortap {

inline constexpr size_t kMostAnswerBytes = size_t{64} << 20;

struct Answer {
  int status = 200;
  std::string type;  // MIME
  std::string body;
};

Answer json_answer(const Json& json);
// {"error": sentence}
Answer error_answer(int status, std::string_view sentence);
// 400 for a wrong question, 404 for an unknown thing, 413 for one that is too large, 500 for everything else.
Answer error_answer(const Status& status);
// Little endian.
Answer binary_answer(std::string bytes);

// {"from", "limit", "total", "items": []}
Json list_json(size_t from, size_t limit, size_t total);

// Bytes of numbers, for binary answers. All machines that we run on are little endian.
template <class T>
void append_bytes(std::string& bytes, std::span<const T> numbers) {
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_ANSWER_H_
