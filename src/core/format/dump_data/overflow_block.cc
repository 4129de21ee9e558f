#include "format/dump_data/overflow_block.h"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint32_t kBlockMagic = 0x5A5A5A5A;
constexpr uint32_t kValid = 1;
constexpr uint32_t kCore = 0;
constexpr uint32_t kCoreBytes = 88;
constexpr uint64_t kNoSlice = 65535;
constexpr size_t kHeadWords = 6;  // of four bytes: magic, version, valid, kind, reserved, length
constexpr size_t kFieldsAt = kHeadWords * sizeof(uint32_t);

template <class T>
T word(std::span<const std::byte> block, size_t at) {
  T value{};
  std::memcpy(&value, block.data() + at, sizeof(T));
  return value;
}

std::string hexadecimal(uint64_t value) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[value % 16]);
    value /= 16;
  } while (value != 0);
  return "0x" + text;
}

// A name that begins with "0x" is shown so.
using Names = std::vector<std::string_view>;

size_t put_fields(std::span<const std::byte> block, size_t at, const Names& names, Json& json) {
  for (const std::string_view name : names) {
    const auto value = word<uint64_t>(block, at);
    at += sizeof(uint64_t);
    if (name.starts_with("0x")) {
      json[std::string(name.substr(2))] = hexadecimal(value);
    } else {
      json[std::string(name)] = value;
    }
  }
  return at;
}

// Of older devices: three descriptions, then the states.
Json older_block(std::span<const std::byte> block) {
  const Names kPlace = {"model_id", "stream_id", "task_id", "task_type", "0xpc_start", "0xpara_base"};
  Json first = Json::object();
  Json second = Json::object();
  Json core = Json::object();
  put_fields(block, 0, kPlace, first);
  put_fields(block, 512, {"status"}, first);
  put_fields(block, 128, kPlace, second);
  put_fields(block, 768, {"status"}, second);
  put_fields(block, 256, kPlace, core);
  put_fields(block, 1024, {"0xkernel_code", "block_idx", "status"}, core);
  return {{"DHA Atomic Add", first}, {"L2 Atomic Add", second}, {"AI Core", core}};
}

struct Kind {
  std::string_view name;
  Names fields;
};

const std::vector<Kind>& kinds() {
  static const Names kCoreFields = {"model_id",  "stream_id",  "task_id",     "task_type", "context_id",
                                    "thread_id", "0xpc_start", "0xpara_base", "core_id",   "block_id"};
  static const std::vector<Kind> kKinds = {
      {"AIC", kCoreFields},
      {"AIV", kCoreFields},
      {"AICPU", {"model_id", "stream_id", "task_id", "task_type", "context_id", "cpu_id", "thread_id"}},
      {"SDMA", {"model_id", "stream_id", "task_id", "task_type", "context_id", "thread_id", "0xsrc_addr", "0xdst_addr", "channel_id"}},
  };
  return kKinds;
}

// A number of a description; nothing for anything else.
std::optional<uint64_t> number_in(const Json& place, const char* name) {
  const auto found = place.find(name);
  return found != place.end() && found->is_number_unsigned() ? std::optional(found->get<uint64_t>()) : std::nullopt;
}

std::optional<OverflowBlock> overflow_at(const Json& place) {
  if (!place.is_object()) return std::nullopt;
  const auto stream = number_in(place, "stream_id");
  const auto task = number_in(place, "task_id");
  if (!stream || !task) return std::nullopt;
  return OverflowBlock{number_in(place, "model_id").value_or(0), *stream, *task};
}

}  // namespace

std::array<std::byte, kOverflowBlockBytes> make_overflow_block(const OverflowBlock& overflow) {
  std::array<std::byte, kOverflowBlockBytes> block{};
  const std::array<uint32_t, kHeadWords> head = {kBlockMagic, 0, kValid, kCore, 0, kCoreBytes};
  const std::array<uint64_t, kCoreBytes / sizeof(uint64_t)> fields = {
      overflow.model, overflow.stream, overflow.task, 0, kNoSlice, kNoSlice, 0, 0, 0, 0, 1};
  std::memcpy(block.data(), head.data(), sizeof(head));
  std::memcpy(block.data() + kFieldsAt, fields.data(), sizeof(fields));
  return block;
}

Result<Json> overflow_block_json(std::span<const std::byte> block) {
  if (block.size() != kOverflowBlockBytes) {
    return corrupt(concat("a description of an overflow has ", kOverflowBlockBytes, " bytes, this one ", block.size()));
  }
  if (word<uint32_t>(block, 0) != kBlockMagic) return older_block(block);
  const auto version = word<uint32_t>(block, 4);
  const auto number = word<uint32_t>(block, 12);
  if (number >= kinds().size()) return corrupt(concat("a description of an overflow of the kind ", number, ", which is not known"));
  const Kind& kind = kinds()[number];
  Json data = Json::object();
  const size_t at = put_fields(block, kFieldsAt, kind.fields, data);
  const bool four_states = version == 1 && (kind.name == "AIC" || kind.name == "AIV");
  if (four_states) {
    data["status"] = Json::array();
    for (size_t i = 0; i < 4; ++i) data["status"].push_back(word<uint64_t>(block, at + i * sizeof(uint64_t)));
  } else {
    put_fields(block, at, {"status"}, data);
  }
  return Json{{"magic", hexadecimal(kBlockMagic)},
              {"version", version},
              {"acc_list",
               {{"valid", word<uint32_t>(block, 8)},
                {"acc_type", kind.name},
                {"rsv", word<uint32_t>(block, 16)},
                {"data_len", word<uint32_t>(block, 20)},
                {"data", data}}}};
}

std::vector<OverflowBlock> overflows_in(const Json& description) {
  if (!description.is_object()) return {};
  const auto add = [](const Json& place, std::vector<OverflowBlock>& all) {
    if (const auto one = overflow_at(place)) all.push_back(*one);
  };
  std::vector<OverflowBlock> found;
  if (const auto list = description.find("acc_list"); list != description.end()) {
    if (list->is_object() && list->contains("data")) add(list->at("data"), found);
    return found;
  }
  for (const char* name : {"DHA Atomic Add", "L2 Atomic Add", "AI Core"}) {
    const auto place = description.find(name);
    if (place != description.end() && place->is_object() && number_in(*place, "status").value_or(0) != 0) add(*place, found);
  }
  if (found.empty() && description.contains("AI Core")) add(description.at("AI Core"), found);
  return found;
}

}  // namespace tensortap
