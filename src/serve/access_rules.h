// AccessRules: who may ask the server of a web view (docs/web_view.md, "Who can read it").

#ifndef TENSORTAP_SERVE_ACCESS_RULES_H_
#define TENSORTAP_SERVE_ACCESS_RULES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

// What the rules look at in a request: the headers of these names, each as often as it was sent.
struct AskedBy {
  std::string_view method;
  std::string_view target;
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
  std::vector<std::string> cookies;
  bool is_marked = false;  // X-Tensortap: 1, which no form of another site can send
};

// Immutable.
class AccessRules {
 public:
  // Errors: kIo when the system has no random bytes.
  static Result<AccessRules> make(uint16_t port);
  AccessRules(std::string token, uint16_t port);

  struct Decision {
    int status = 0;             // of the refusal; 0 = allowed
    std::string_view sentence;  // why it is refused
    bool is_entrance = false;   // allowed by the token in the address: the answer is the cookie and the way to "/"
  };
  [[nodiscard]] Decision judge(const AskedBy& asked) const;

  // "/?token=..." of the first address.
  [[nodiscard]] std::string entrance() const;
  // Of the header Set-Cookie.
  [[nodiscard]] std::string cookie() const;

 private:
  [[nodiscard]] bool knows_host(std::string_view host) const;
  [[nodiscard]] bool has_cookie(const std::vector<std::string>& cookies) const;

  std::string token_;
  std::string cookie_name_;  // cookies are shared between the ports of a host, so each port has its own
  std::string port_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_ACCESS_RULES_H_
