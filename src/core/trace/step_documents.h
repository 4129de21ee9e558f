// Files of a dump that a source writes beside the records: a JSON object per line, with the step that it belongs to (docs/layouts/tap.md).

#ifndef TENSORTAP_TRACE_STEP_DOCUMENTS_H_
#define TENSORTAP_TRACE_STEP_DOCUMENTS_H_

#include <array>
#include <string_view>

namespace tensortap {

inline constexpr std::string_view kCallsDocument = "calls.jsonl";        // what calls were given beside tensors
inline constexpr std::string_view kRequestsDocument = "requests.jsonl";  // the requests that a serving engine called its model for
inline constexpr std::array<std::string_view, 2> kStepDocuments = {kCallsDocument, kRequestsDocument};

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_STEP_DOCUMENTS_H_
