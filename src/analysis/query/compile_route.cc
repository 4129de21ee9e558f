#include "query/compile_route.h"

#include <string_view>

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"

namespace tensortap {

std::string compile_route_text(const Json& manifest) {
  struct Route {
    std::string_view name;
    std::string_view what;
  };
  constexpr Route kRoutes[] = {
      {"eager", "compiled functions ran eagerly"},
      {"aot", "compiled functions ran as graphs of AOTAutograd, without Inductor"},
      {"inductor-nodes", "Inductor's code kept the value of every node, so it fused little and rounded as eager code does"},
  };
  const Json* runtime = member(manifest, "runtime");
  const Json* settings = runtime == nullptr ? nullptr : member(*runtime, "settings");
  const std::string used = settings == nullptr ? "" : text_in(*settings, "torch_compile");
  for (const Route& route : kRoutes) {
    if (used != route.name) continue;
    return concat("--compile ", route.name, ": ", route.what,
                  "; a difference that fusing makes is not in this dump (--compile inductor-kernels captures the fused kernels)");
  }
  return "";
}

}  // namespace tensortap
