#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compare/comparison_json.h"
#include "compare/culprit_text.h"
#include "compare/dump_comparison.h"
#include "compare/made_dump.h"

namespace tensortap {
namespace {

// Calls of modules as they are recorded: what a module reads before what runs in it, what it returns behind that.
struct Modules : MadeDump {
  Modules() {
    for (const char* name : {"Net", "Net.layer", "Net.layer.q", "Net.layer.o", "Net.head"}) {
      OpInfo info;
      info.name = info.module = name;
      info.type = info.name.substr(info.name.rfind('.') + 1);
      info.level = Level::kModule;
      add_op(std::move(info));
    }
  }
  void add_value(OpId id, SlotKind kind, const std::vector<float>& values, uint64_t storage) {
    const size_t row = gives(id, values);
    all_rows[row].slot_kind = static_cast<uint8_t>(kind);
    all_rows[row].storage = storage;
    all_rows[row].version = 1;
  }
  void in(OpId id, const std::vector<float>& values, uint64_t storage) { add_value(id, SlotKind::kInput, values, storage); }
  void out(OpId id, const std::vector<float>& values, uint64_t storage) { add_value(id, SlotKind::kOutput, values, storage); }
};

// The layer makes something of what its q returns, without a module, and passes it to its o. Factors are those of the faults.
struct Net : Modules {
  Net(float attention, float projection) {
    const std::vector<float> x = numbers(40, 1);
    const std::vector<float> passed = scaled(numbers(40, 3), attention);
    const std::vector<float> returned = scaled(numbers(40, 4), attention * projection);
    in(0, x, 1);
    in(1, x, 1);
    in(2, x, 1);
    out(2, numbers(40, 2), 2);
    in(3, passed, 3);
    out(3, returned, 4);
    out(1, returned, 4);
    in(4, returned, 4);
    out(4, scaled(numbers(40, 5), attention * projection), 5);
    out(0, scaled(numbers(40, 5), attention * projection), 5);
  }
};

std::string verdict_of(const DumpIndex& a, const DumpIndex& b, std::map<std::string, std::string>* births = nullptr) {
  auto comparison = DumpComparison::make(a, b, {});
  EXPECT_TRUE(comparison.ok()) << comparison.status().message();
  (*comparison)->run([&](const ComparedValue& value) {
    if (births != nullptr) (*births)[record_name_of(b, value.row_b)] = birth_name(value.birth);
  });
  const ComparisonSummary& summary = (*comparison)->summary();
  if (!summary.outside()) return "same";
  EXPECT_EQ(summary.roots, 1U);
  return culprit_text(**comparison);
}

TEST(ModuleJudge, AModuleIsJudgedByItsOwnOps) {
  const Net right(1, 1);
  EXPECT_EQ(verdict_of(right, right), "same");
  std::map<std::string, std::string> births;
  EXPECT_EQ(verdict_of(Net(1, 1.5F), right, &births),
            "Net.layer.o:out0 (o): relative L2 0.5, its inputs and its modules' outputs are equal");
  EXPECT_EQ(births, (std::map<std::string, std::string>{{"Net:in0", ""},
                                                        {"Net.layer.q:out0", ""},
                                                        {"Net.layer.o:in0", ""},
                                                        {"Net.layer.o:out0", "born"},
                                                        {"Net.layer:out0", "inherited"},
                                                        {"Net.head:out0", "inherited"},
                                                        {"Net:out0", "inherited"}}));
}

TEST(ModuleJudge, WhatAModulePassesToOneInItIsItsOwn) {
  EXPECT_EQ(verdict_of(Net(1.5F, 1), Net(1, 1)),
            "Net.layer (layer), in what it passes to Net.layer.o:in0: relative L2 0.5, its inputs and its modules' outputs are equal");
}

TEST(ModuleJudge, AModuleInCodesIsPairedWithItsOriginalHoweverCoarseTheCodesAre) {
  const Net right(1, 1);
  Net coded(1, 1.1F);
  coded.at(3).type = "QuantLinear";
  EXPECT_EQ(verdict_of(coded, right), "same");
  Net wrong(1, 3);
  wrong.at(3).type = "QuantLinear";
  EXPECT_EQ(verdict_of(wrong, right), "Net.layer.o:out0 (o): relative L2 2, its inputs and its modules' outputs are equal");
  EXPECT_NE(verdict_of(Net(1, 1.1F), right), "same") << "no codes, no excuse";
}

TEST(ModuleJudge, AViewOfAChangedWeightIsNotBorn) {
  const auto make = [](MadeDump& dump, float factor) {
    const OpId view = dump.op("narrow", "narrow");
    const OpId sum = dump.op("exp", "exp");
    for (const OpId id : {view, sum}) dump.at(id).outputs.clear();
    const auto record = [&](OpId id, SlotKind kind, const std::vector<float>& values, uint64_t storage) {
      const size_t row = dump.gives(id, values);
      dump.all_rows[row].slot_kind = static_cast<uint8_t>(kind);
      dump.all_rows[row].storage = storage;
      dump.all_rows[row].value_flags = storage == 1 ? kValueRoleKnown | kValueParameter : kValueRoleKnown;
    };
    record(view, SlotKind::kInput, scaled(numbers(40, 1), factor), 1);
    record(view, SlotKind::kOutput, scaled(numbers(40, 1), factor), 1);
    record(sum, SlotKind::kInput, scaled(numbers(40, 1), factor), 1);
    record(sum, SlotKind::kOutput, scaled(numbers(40, 2), factor), 2);
  };
  MadeDump a;
  MadeDump b;
  make(a, 1.5F);
  make(b, 1);
  std::map<std::string, std::string> births;
  EXPECT_EQ(verdict_of(a, b, &births), "exp:out0 (exp): relative L2 0.5, it reads a weight or an input that differs: narrow:in0");
  EXPECT_EQ(births.at("narrow:out0"), "inherited");
}

TEST(ModuleJudge, AddressesOfMemoryAreNoWeights) {
  const auto make = [](MadeDump& dump, int64_t first, int64_t step) {
    const OpId id = dump.op("exp", "exp");
    dump.at(id).outputs.clear();
    RecordRow row;
    row.op = id;
    row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
    row.storage = 1;
    row.set_desc({DType::kInt64, Shape({3})});
    dump.set_data(dump.add(row), std::vector<int64_t>{first, first + step, 0});
    dump.all_rows[dump.gives(id, numbers(40, 2))].storage = 2;
  };
  MadeDump a;
  MadeDump b;
  make(a, 0x7f12a0000040, 512);
  make(b, 0x55d0c4000100, 512);
  EXPECT_EQ(verdict_of(a, b), "same");
  MadeDump numbers_of_a;
  MadeDump numbers_of_b;
  make(numbers_of_a, 20, 512);
  make(numbers_of_b, 30, 512);
  auto comparison = DumpComparison::make(numbers_of_a, numbers_of_b, {});
  ASSERT_TRUE(comparison.ok());
  (*comparison)->run([](const ComparedValue&) {});
  EXPECT_TRUE((*comparison)->summary().outside());
}

}  // namespace
}  // namespace tensortap
