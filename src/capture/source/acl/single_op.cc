#include "source/acl/single_op.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/json.h"
#include "base/text.h"
#include "source/acl/devices.h"
#include "source/acl/engine.h"
#include "source/acl/exceptions.h"
#include "source/acl/execution.h"
#include "source/acl/failure.h"
#include "source/acl/lifecycle.h"
#include "source/acl/op_model.h"
#include "source/acl/stream.h"

namespace tensortap::acl_source::single_ops {
namespace {

constexpr size_t kMostLoadedOps = 64;

struct LoadedOps {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<EngineModel>> by_model;  // guarded by mutex
};

LoadedOps& loaded_ops() {
  static auto* const ops = new LoadedOps;
  return *ops;
}

std::vector<const aclTensorDesc*> plain_pointers(const std::vector<std::shared_ptr<aclTensorDesc>>& descs) {
  std::vector<const aclTensorDesc*> pointers;
  for (const auto& desc : descs) pointers.push_back(desc.get());
  return pointers;
}

Result<std::string> model_of(const OpCall& call) {
  const auto inputs = plain_pointers(call.input_descs);
  const auto outputs = plain_pointers(call.output_descs);
  return op_model({call.type, inputs, outputs, call.attributes.get()});
}

// Held by its caller while it runs, so that forget() may come at any time.
aclError load_op(const OpCall& call, std::shared_ptr<EngineModel>& loaded) {
  const auto model = model_of(call);
  if (!model.ok()) return fail(ACL_ERROR_OP_NOT_FOUND, concat(call.type, ": ", model.status().message()));
  const auto dump = Lifecycle::of_process().dump_of_operators();
  const std::string key = concat(*model, dump ? dump->timestamp : "");
  {
    const std::lock_guard lock(loaded_ops().mutex);
    loaded = loaded_ops().by_model[key];
    if (loaded) return ACL_SUCCESS;
  }
  EngineRequest request;
  request.bytes = *model;
  request.name = call.type;
  request.device = std::max(0, devices::current_device());
  request.single_op = true;
  static std::atomic<uint32_t> last_number{0};
  request.model_id = last_number.fetch_add(1) + 1;
  request.dump = dump.get();
  auto engine = EngineModel::open(request);
  if (!engine.ok()) {
    const bool no_runtime = engine.status().code() == StatusCode::kNotFound;
    return fail(no_runtime ? ACL_ERROR_INTERNAL_ERROR : ACL_ERROR_OP_NOT_FOUND, concat(call.type, ": ", engine.status().message()));
  }
  std::map<std::string, std::shared_ptr<EngineModel>> dropped;  // ended without the lock
  const std::lock_guard lock(loaded_ops().mutex);
  if (loaded_ops().by_model.size() > kMostLoadedOps) dropped.swap(loaded_ops().by_model);
  loaded = loaded_ops().by_model[key] = *std::move(engine);
  return ACL_SUCCESS;
}

aclError check_buffers(const OpCall& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.input_descs[i]->is_constant) continue;
    const aclError checked = check_buffer(*call.inputs[i], false);
    if (checked != ACL_SUCCESS) return checked;
    const size_t needed = aclGetTensorDescSize(call.input_descs[i].get());
    if (call.inputs[i]->size < needed) {
      return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                  concat("input ", i, " of ", call.type, " takes ", needed, " bytes; its buffer has ", call.inputs[i]->size));
    }
  }
  for (const auto& output : call.outputs) {
    const aclError checked = check_buffer(*output, true);
    if (checked != ACL_SUCCESS) return checked;
  }
  return ACL_SUCCESS;
}

aclError run_op(const OpCall& call, EngineModel& engine, uint32_t stream) {
  std::vector<tensortap_tensor> tensors;
  std::vector<std::string> names(call.inputs.size());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.input_descs[i]->is_constant) continue;
    names[i] = concat("x", i);
    tensors.push_back(input_tensor(call.input_descs[i]->type, call.input_descs[i]->dims, call.inputs[i]->data));
    tensors.back().name = names[i].c_str();
  }
  aclError error = ACL_SUCCESS;
  Json failed_op;
  const Status ran = engine.run(
      tensors,
      [&](const tensortap_tensor& made) {
        if (made.slot_index >= call.outputs.size()) return;
        const aclError stored = store_output(made, *call.outputs[made.slot_index]);
        if (stored != ACL_SUCCESS && error == ACL_SUCCESS)
          error = stored == ACL_ERROR_MODEL_OUTPUT_NOT_MATCH ? ACL_ERROR_OP_OUTPUT_NOT_MATCH : stored;
        if (call.tells_shapes) call.output_descs[made.slot_index]->dims.assign(made.dims, made.dims + made.rank);
      },
      failed_op);
  if (ran.ok()) return error;
  const aclError code = fail(ACL_ERROR_GE_FAILURE, concat(call.type, ": ", ran.message()));
  exceptions::report(failed_op, stream, static_cast<uint32_t>(code));
  return code;
}

// What an earlier task of the stream makes may be an input: the op takes its turn.
aclError take_turn(Stream& stream, const Stream::Task& task) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  aclError result = ACL_SUCCESS;
  stream.add([&]() -> aclError {
    const aclError error = task();
    const std::lock_guard lock(mutex);
    result = error;
    done = true;
    changed.notify_all();
    return ACL_SUCCESS;
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
  return result;
}

}  // namespace

aclError compile(const OpCall& call) {
  std::shared_ptr<EngineModel> engine;
  return load_op(call, engine);
}

aclError execute(const OpCall& call) {
  const auto stream = Stream::find(call.stream);
  if (!stream) return bad_handle("stream");
  for (const auto& desc : call.input_descs) {
    const bool open = desc->unknown_rank || std::ranges::any_of(desc->dims, [](int64_t dim) { return dim < 0; });
    if (open) return fail(ACL_ERROR_OP_INPUT_NOT_MATCH, concat("the inputs of ", call.type, " must have definite shapes"));
  }
  const aclError checked = check_buffers(call);
  if (checked != ACL_SUCCESS) return checked;
  std::shared_ptr<EngineModel> engine;
  const aclError loaded = load_op(call, engine);
  if (loaded != ACL_SUCCESS) return loaded;
  const auto run = [&] { return run_op(call, *engine, stream->id()); };
  return stream->idle() ? run() : take_turn(*stream, [&] { return answer(run); });
}

void forget() {
  std::map<std::string, std::shared_ptr<EngineModel>> dropped;
  const std::lock_guard lock(loaded_ops().mutex);
  dropped.swap(loaded_ops().by_model);
}

void finish_at_exit() {
  const std::lock_guard lock(loaded_ops().mutex);
  for (const auto& [key, engine] : loaded_ops().by_model) {
    if (engine) engine->finish_at_exit();
  }
}

}  // namespace tensortap::acl_source::single_ops
