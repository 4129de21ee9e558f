// The folders of dumps that a device writes beside the program, in the forms in which AscendCL and MindSpore have them, whatever their
// files are.

#ifndef TENSORTAP_TREE_ASYNCHRONOUS_TREE_H_
#define TENSORTAP_TREE_ASYNCHRONOUS_TREE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"
#include "tree/named_folder.h"

namespace tensortap {

enum class TreeForm : uint8_t {
  kAcl,   // TIME/DEVICE/MODEL/ID/STEP, and TIME/DEVICE for an op outside every model
  kGe,    // TIME/DEVICE/MODEL/ID/STEP for every op
  kStep,  // STEP/TIME/DEVICE/MODEL/ID/STEP
  kOps,   // STEP/TIME/DEVICE
  kRank   // rank_R/NET/0/STEP
};

// The word for a form in options, "acl" to "rank". Errors: kInvalidArgument with the words of `forms`.
std::string_view tree_form_word(TreeForm form);
Result<TreeForm> parse_tree_form(std::string_view text, std::span<const TreeForm> forms);

// A name of a net, which becomes a folder: the words for its option, and whether a text is one.
inline constexpr std::string_view kNetNameValues = "1 to 255 letters, digits, '-' and '_'";
Status check_net_name(std::string_view name);

// YYYYmmddHHMMSS of now, in local time.
std::string time_folder_name();

struct ManifestPlace {
  std::string folder;
  std::string file;
};

// Where the files of a dump go, relative to its folder.
struct AsynchronousTree {
  TreeForm form = TreeForm::kAcl;
  std::string time;    // "20261121080311"
  std::string device;  // "0"
  std::string model;   // "resnet50/1"
  std::string net;     // "rank_0/Net/0"

  // The folder of a step. `lone`: of an op outside every model.
  [[nodiscard]] std::string step_folder(int64_t step, bool lone) const;
  // Where our own manifest of a dump called `name` goes: in TIME where that is uppermost, else beside the steps.
  [[nodiscard]] ManifestPlace manifest_place(std::string_view name) const;
  // The same, never in TIME, whose manifest says that DumpData files are below it.
  [[nodiscard]] ManifestPlace manifest_above_times(std::string_view name) const;
  // Whether MindSpore asks AscendCL for each step anew, and leaves what it asked beside the steps.
  [[nodiscard]] bool asks_each_step() const { return form == TreeForm::kStep || form == TreeForm::kOps; }
};

// `model` is a name for a folder, `net` one for the form kRank.
AsynchronousTree asynchronous_tree(const DumpInfo& info, TreeForm form, std::string_view model, std::string_view net);
// The name of the model that a dump is of, or of its program, without an ending; "model" where neither is known.
std::string model_of(const DumpInfo& info);

// What MindSpore asks of AscendCL for a step. Value type.
class AclRequest {
 public:
  AclRequest() = default;
  explicit AclRequest(const CaptureSpec& spec);

  // Leaves it in `root` as acl_dump_0.json, as the last step asked. Nothing where a form does not ask for each step, and before the first
  // step (-1).
  [[nodiscard]] Status write(const AsynchronousTree& tree, const Folder& root, int64_t last_step, FolderRules rules) const;

 private:
  [[nodiscard]] std::string text(std::string_view folder) const;

  Trigger trigger_ = Trigger::kAlways;
  std::string_view mode_ = "all";
  std::vector<std::string> layers_;
};

}  // namespace tensortap

#endif  // TENSORTAP_TREE_ASYNCHRONOUS_TREE_H_
