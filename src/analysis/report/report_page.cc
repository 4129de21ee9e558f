#include "report/report_page.h"

#include <sha2.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/base64.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kStyleLink = R"(<link rel="stylesheet" href="app.css" />)";
constexpr std::string_view kScriptLink = R"(<script src="app.js" defer></script>)";
constexpr std::string_view kCharacterSet = R"(<meta charset="utf-8" />)";
constexpr std::string_view kBodyEnd = "</body>";

Status replace_last(std::string& page, std::string_view old, const std::string& by) {
  const size_t at = page.rfind(old);
  if (at == std::string::npos) return internal_error(concat("index.html of the page has no ", old));
  page.replace(at, old.size(), by);
  return {};
}

// Whether an HTML parser reads all of `text` as the content of its element.
Status check_inside(std::string_view text, std::string_view name, std::initializer_list<std::string_view> ends) {
  const std::string lower = to_lower(text);
  for (const std::string_view end : ends) {
    if (lower.find(end) != std::string::npos) return internal_error(concat(name, " of the page has ", end));
  }
  return {};
}

// What a policy calls this script or style: no other is run, whatever names a dump has.
std::string source_hash(std::string_view text) {
  SHA2_CTX state;
  SHA256Init(&state);
  SHA256Update(&state, reinterpret_cast<const uint8_t*>(text.data()), text.size());
  std::array<uint8_t, SHA256_DIGEST_LENGTH> bytes{};
  SHA256Final(bytes.data(), &state);
  std::string hash = "'sha256-";
  append_base64(std::as_bytes(std::span(bytes)), hash);
  return hash + "'";
}

}  // namespace

Result<std::string> report_page(const PageParts& parts, std::string_view data) {
  TENSORTAP_RETURN_IF_ERROR(check_inside(parts.script, "app.js", {"</script", "<script", "<!--", "\r"}));
  TENSORTAP_RETURN_IF_ERROR(check_inside(parts.style, "app.css", {"</style", "<!--", "\r"}));
  const std::string policy =
      concat(R"(<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; )",
             "form-action 'none'; script-src ", source_hash(parts.script), "; style-src ", source_hash(parts.style), R"(" />)");
  std::string page(parts.html);
  TENSORTAP_RETURN_IF_ERROR(replace_last(page, kCharacterSet, concat(kCharacterSet, "\n    ", policy)));
  TENSORTAP_RETURN_IF_ERROR(replace_last(page, kScriptLink, ""));
  TENSORTAP_RETURN_IF_ERROR(replace_last(page, kStyleLink, concat("<style>", parts.style, "</style>")));
  TENSORTAP_RETURN_IF_ERROR(replace_last(page, kBodyEnd,
                                         concat(R"(<script type="application/json" id="tensortap-data">)", data, "</script>\n<script>",
                                                parts.script, "</script>\n", kBodyEnd)));
  return page;
}

}  // namespace tensortap
