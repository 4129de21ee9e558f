#include "serve/answer.h"

#include <utility>

#include "base/json.h"

namespace tensortap {

Answer json_answer(const Json& json) { return {200, "application/json", to_json_text(json)}; }

Answer error_answer(int status, std::string_view sentence) {
  Answer answer = json_answer({{"error", std::string(sentence)}});
  answer.status = status;
  return answer;
}

Answer error_answer(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
      return error_answer(400, status.message());
    case StatusCode::kNotFound:
      return error_answer(404, status.message());
    case StatusCode::kExhausted:
      return error_answer(413, status.message());
    default:
      return error_answer(500, status.message());
  }
}

Answer binary_answer(std::string bytes) { return {200, "application/octet-stream", std::move(bytes)}; }

Json list_json(size_t from, size_t limit, size_t total) {
  return {{"from", from}, {"limit", limit}, {"total", total}, {"items", Json::array()}};
}

}  // namespace tensortap
