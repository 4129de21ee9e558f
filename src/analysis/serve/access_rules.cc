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

bool is_port(std::string_view text) { return !text.empty() && text.size() <= 5 && is_digits(text); }

}  // namespace

AccessRules::AccessRules(std::string token, Names names) : token_(std::move(token)), names_(std::move(names)) {
  for (std::string& name : names_.others) name = to_lower(name);
}

Result<AccessRules> AccessRules::make(Names names) {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return errno_status("random numbers", errno);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return AccessRules(std::move(token), std::move(names));
}

std::string AccessRules::entrance() const { return concat("/?token=", token_); }

bool AccessRules::is_host_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digits({&c, 1}) || c == '.' || c == '-'; };
  const size_t end = std::min(text.find(':'), text.size());
  const bool has_port = end < text.size();
  return end > 0 && std::ranges::all_of(text.substr(0, end), fits) && (!has_port || is_port(text.substr(end + 1)));
}

bool AccessRules::is_other(std::string_view host) const {
  const std::string asked = to_lower(host);
  return std::ranges::any_of(names_.others, [&](const std::string& name) {
    if (!asked.starts_with(name)) return false;
    const std::string_view rest = std::string_view(asked).substr(name.size());
    return rest.empty() || (name.find(':') == std::string::npos && rest.front() == ':' && is_port(rest.substr(1)));
  });
}

bool AccessRules::knows_host(std::string_view host) const {
  const auto is_this = [&](std::string_view name) {
    if (!host.starts_with(name)) return false;
    const std::string_view port = host.substr(name.size());
    return names_.port == 0 ? is_port(port) : port == concat(names_.port);
  };
  return is_this("127.0.0.1:") || is_this("localhost:") || is_other(host);
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
    return {403, "This server answers only to 127.0.0.1 and localhost, with its own port, and to the names of --allow-host."};
  }
  const std::string& host = asked.hosts.front();
  // What forwards under another name may also encrypt.
  const bool may_encrypt = is_other(host);
  const bool is_own = std::ranges::all_of(asked.origins, [&](std::string_view origin) {
    return origin == concat("http://", host) || (may_encrypt && origin == concat("https://", host));
  });
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
