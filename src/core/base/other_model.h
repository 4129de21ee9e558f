// A model that a config asks for and that is none of those that run: what people read of it.

#ifndef TENSORTAP_BASE_OTHER_MODEL_H_
#define TENSORTAP_BASE_OTHER_MODEL_H_

#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace tensortap {

struct OtherModel {
  std::string name;                  // that is asked for
  std::string origin;                // where: "acl.json:3:5"; "" = not known
  std::vector<std::string> running;  // names of the running models; a model may have several, of its file and of its graph
};

// One sentence, with the nearest name if one is near.
std::string other_model_text(const OtherModel& other);

// The form that run.json has: {"name", "origin", "running", "text"}.
Json other_model_json(const OtherModel& other);

// Those that are in both lists of run.json's form, each with the running models of both. Skips entries of another form.
Json other_models_in_both(const Json& one, const Json& two);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_OTHER_MODEL_H_
