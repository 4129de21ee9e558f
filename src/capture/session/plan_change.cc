#include "session/plan_change.h"

#include "base/text.h"
#include "session/active_plan.h"

namespace tensortap {

Status check_plan_change(const CaptureSpec& opened, const CaptureSpec& next, const Layout& layout) {
  if (opened.trigger == Trigger::kOverflow || opened.trigger == Trigger::kWatch) {
    return unsupported("the plan cannot be replaced under the triggers \"overflow\" and \"watch\"");
  }
  if (!layout.takes_plan_changes) return unsupported(concat("the layout ", quote(layout.name), " takes no other plan while it is written"));
  if (opened.budget == 0 && next.budget != 0) {
    return invalid_argument("budget: this session was opened without one and has not measured what steps cost; start it with --budget");
  }
  if (opened.budget != 0 && next.budget == 0) {
    return invalid_argument("budget: cannot be taken away while the session runs; 100% lets everything through");
  }
  struct Fixed {
    std::string_view key;
    bool same;
  };
  const Fixed fixed[] = {{"layout", next.layout == opened.layout},
                         {"profile", next.profile == opened.profile},
                         {"layout_options", next.layout_options == opened.layout_options},
                         {"out", next.out.empty() || next.out == opened.out},
                         {"dialect", next.dialect == opened.dialect},
                         {"levels", next.levels == opened.levels},
                         {"trigger", next.trigger == opened.trigger},
                         {"limits", next.limits == opened.limits},
                         {"full_policy", next.full_policy == opened.full_policy},
                         {"first_step", next.first_step == opened.first_step},
                         {"step_at", next.step_at == opened.step_at},
                         {"exception_detail", next.exception_detail == opened.exception_detail},
                         {"follow", next.follow.path.empty() || next.follow == opened.follow},
                         {"devices", next.devices.empty() || next.devices == opened.devices},
                         {"mode", next.access == opened.access}};
  for (const Fixed& one : fixed) {
    if (!one.same) return invalid_argument(concat(one.key, ": cannot change while the session runs; keep the value it was opened with"));
  }
  return {};
}

}  // namespace tensortap
