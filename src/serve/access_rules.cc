#include "serve/access_rules.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr size_t kTokenBytes = 16;
constexpr std::string_view kHeader = "authorization:";
constexpr std::string_view kScheme = "Bearer ";

// In a time that does not depend on how much of it is right.
bool is_same_secret(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size()) return false;
  unsigned differing = 0;
  for (size_t i = 0; i < secret.size(); ++i) {
    differing |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(secret[i]));
  }
  return differing == 0;
}

}  // namespace

AccessRules::AccessRules(std::string token, uint16_t port) : token_(std::move(token)), port_(concat(port)) {}

Result<AccessRules> AccessRules::make(uint16_t port) {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return errno_status("random numbers", errno);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return AccessRules(std::move(token), port);
}

std::string AccessRules::entrance() const { return concat("/?token=", token_); }

bool AccessRules::knows_host(std::string_view host) const {
  return std::ranges::any_of(std::array<std::string_view, 2>{"127.0.0.1:", "localhost:"},
                             [&](std::string_view name) { return host.starts_with(name) && host.substr(name.size()) == port_; });
}

bool AccessRules::is_authorized(std::string_view authorization) const {
  return authorization.starts_with(kScheme) && is_same_secret(authorization.substr(kScheme.size()), token_);
}

bool AccessRules::knows(std::string_view head) const {
  for (std::string_view line : split(head, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() <= kHeader.size() || to_lower(line.substr(0, kHeader.size())) != kHeader) continue;
    if (is_authorized(trim(line.substr(kHeader.size())))) return true;
  }
  return false;
}

AccessRules::Decision AccessRules::judge(const AskedBy& asked) const {
  if (asked.hosts.size() != 1 || !knows_host(asked.hosts.front())) {
    return {403, "This server answers only to 127.0.0.1 and localhost, with its own port."};
  }
  const bool is_own = std::ranges::all_of(
      asked.origins, [&](std::string_view origin) { return origin.starts_with("http://") && origin.substr(7) == asked.hosts.front(); });
  if (!is_own) return {403, "Pages of other sites may not ask this server."};
  const bool is_change = asked.method == "POST";
  if (asked.method != "GET" && !is_change) return {405, "Only GET is answered, and POST to /api/live/set."};
  if (!is_change && asked.is_page) return {};
  if (asked.authorizations.size() != 1 || !is_authorized(asked.authorizations.front())) {
    return {401, "Open the address that `tensortap serve` printed: it has the token."};
  }
  if (is_change && (!asked.is_marked || asked.origins.empty())) {
    return {403, "A change needs the headers Origin and X-Tensortap: 1."};
  }
  return {};
}

}  // namespace tensortap
