#include "system/msit/tree/topology.h"

#include <gtest/gtest.h>

namespace tensortap::msit {
namespace {

class Topologies : public testing::Test {
 protected:
  static RecordRow row(OpId op, SlotKind kind, uint16_t slot, uint64_t storage, uint64_t version = 1) {
    RecordRow made;
    made.op = op;
    made.slot_kind = static_cast<uint8_t>(kind);
    made.slot_index = slot;
    made.storage = storage;
    made.version = version;
    return made;
  }
  void reads(OpId op, std::initializer_list<uint64_t> storages) {
    uint16_t slot = 0;
    for (const uint64_t storage : storages) topology_.see(op, row(op, SlotKind::kInput, slot++, storage));
  }
  void makes(OpId op, std::initializer_list<uint64_t> storages) {
    uint16_t slot = 0;
    for (const uint64_t storage : storages) topology_.see(op, row(op, SlotKind::kOutput, slot++, storage));
  }

  Topology topology_;
};

// The real system's file for the same operations, of its recorded dump.
TEST_F(Topologies, ALayerIsDescribedAsTheRealOneDescribesIt) {  // L17
  topology_.add(0, {"1", "Decoder_layer", "", kNoOp, "", ModelPhase::kNone});
  topology_.add(1, {"1_0", "LinearOperation", R"({"transposeB":true,"hasBias":false})", 0, "", ModelPhase::kNone});
  topology_.add(2, {"1_1", "RmsNormOperation", R"({"layerType":1,"normParam":{"epsilon":1e-05}})", 0, "", ModelPhase::kNone});
  topology_.add(3, {"1_2", "ElewiseOperation", R"({"elewiseType":8})", 0, "", ModelPhase::kNone});
  reads(0, {10, 11});
  reads(1, {10, 11});
  makes(1, {20});
  reads(2, {20, 11});
  makes(2, {21});
  reads(3, {21, 11});
  makes(3, {30});
  makes(0, {30});
  const auto layers = topology_.layers();
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].name, "Decoder_layer_1.json");
  EXPECT_EQ(layers[0].text,
            R"({"opName":"Decoder_layer_1","opType":"Decoder_layer","param":"",)"
            R"("inTensors":["Decoder_layer_1_input_0","Decoder_layer_1_input_1"],"outTensors":["Decoder_layer_1_output_0"],)"
            R"("internalTensors":["Decoder_layer_1_internal_0","Decoder_layer_1_internal_1"],"nodes":[)"
            R"({"opName":"LinearOperation_1_0","opType":"LinearOperation","param":{"transposeB":true,"hasBias":false},)"
            R"("inTensors":["Decoder_layer_1_input_0","Decoder_layer_1_input_1"],"outTensors":["Decoder_layer_1_internal_0"]},)"
            R"({"opName":"RmsNormOperation_1_1","opType":"RmsNormOperation","param":{"layerType":1,"normParam":{"epsilon":1e-05}},)"
            R"("inTensors":["Decoder_layer_1_internal_0","Decoder_layer_1_input_1"],"outTensors":["Decoder_layer_1_internal_1"]},)"
            R"({"opName":"ElewiseOperation_1_2","opType":"ElewiseOperation","param":{"elewiseType":8},)"
            R"("inTensors":["Decoder_layer_1_internal_1","Decoder_layer_1_input_1"],"outTensors":["Decoder_layer_1_output_0"]}]})");
}

TEST_F(Topologies, AModelHasItsRootOperationsAndWhatGoesBetweenThem) {
  topology_.add(0, {"0", "Embedding", "", kNoOp, "Toy", ModelPhase::kPrefill});
  topology_.add(1, {"1", "Prefill_layer", "", kNoOp, "Toy", ModelPhase::kPrefill});
  topology_.add(2, {"1_0", "MmOperation", "", 1, "", ModelPhase::kPrefill});
  topology_.add(3, {"2", "ArgmaxOperation", "", kNoOp, "", ModelPhase::kPrefill});
  reads(0, {1});
  makes(0, {2});
  reads(1, {2});
  reads(2, {2, 9});
  makes(2, {3});
  makes(1, {3});
  reads(3, {3});
  makes(3, {4});
  const auto models = topology_.models();
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].name, "Toy.json");
  EXPECT_EQ(models[0].text,
            R"({"inTensors":["Toy_input_0"],"internalTensors":["Toy_internal_0"],"modelName":"Toy","nodes":[)"
            R"({"inTensors":["Toy_input_0"],"opName":"Embedding_0","outTensors":["Toy_internal_0"],"opType":"Embedding"},)"
            R"({"inTensors":["Toy_internal_0"],"opName":"Prefill_layer_1","outTensors":["Toy_output_0"],"opType":"Prefill_layer",)"
            R"("internalTensors":["Prefill_layer_1_internal_0"],"nodes":[{"opName":"MmOperation_1_0","opType":"MmOperation","param":{},)"
            R"("inTensors":["Toy_internal_0","Prefill_layer_1_internal_0"],"outTensors":["Toy_output_0"]}]}],)"
            R"("outTensors":["Toy_output_0"]})")
      << "a weight is an internal tensor";
}

TEST_F(Topologies, EachIsDescribedOnceAndEachPhaseOfAModelByItself) {
  topology_.add(0, {"0", "Layer", "", kNoOp, "Toy", ModelPhase::kPrefill});
  topology_.add(1, {"1", "Layer", "", kNoOp, "Toy", ModelPhase::kDecode});
  for (int round = 0; round < 2; ++round) {
    for (OpId op = 0; op < 2; ++op) {
      reads(op, {1});
      const auto models = topology_.models();
      EXPECT_EQ(models.size(), round == 0 ? 1U : 0U);
      for (const TopologyDocument& model : models) EXPECT_EQ(model.name, op == 0 ? "Toy.json" : "Toy_decode.json");
      EXPECT_EQ(topology_.layers().size(), round == 0 ? 1U : 0U);
      topology_.end_round();
    }
  }
}

TEST_F(Topologies, ValuesOfUnknownMemoryAreEachTheirOwn) {
  topology_.add(0, {"0", "Layer", "", kNoOp, "", ModelPhase::kNone});
  topology_.add(1, {"0_0", "AddOperation", "", 0, "", ModelPhase::kNone});
  reads(0, {0});
  reads(1, {0, 0});
  makes(1, {5});
  makes(0, {5});
  EXPECT_NE(topology_.layers()[0].text.find(R"("internalTensors":["Layer_0_internal_0","Layer_0_internal_1"])"), std::string::npos);
}

TEST_F(Topologies, WhatWasWrittenOverIsAnotherValue) {
  topology_.add(0, {"0", "Layer", "", kNoOp, "", ModelPhase::kNone});
  topology_.add(1, {"0_0", "Relu_Operation", "", 0, "", ModelPhase::kNone});
  topology_.see(0, row(0, SlotKind::kInput, 0, 7, 1));
  topology_.see(1, row(1, SlotKind::kInput, 0, 7, 1));
  topology_.see(1, row(1, SlotKind::kOutput, 0, 7, 2));
  topology_.see(0, row(0, SlotKind::kOutput, 0, 7, 2));
  EXPECT_NE(topology_.layers()[0].text.find(R"("inTensors":["Layer_0_input_0"],"outTensors":["Layer_0_output_0"]}]})"), std::string::npos);
}

TEST_F(Topologies, KnowTheTypesOfWhatTheyName) {
  topology_.add(0, {"0", "Layer", "", kNoOp, "Toy", ModelPhase::kPrefill});
  topology_.add(1, {"0_0", "CastOperation", "", 0, "", ModelPhase::kPrefill});
  RecordRow given = row(0, SlotKind::kInput, 0, 1, 1);
  given.set_desc({DType::kFloat16, {2, 3}});
  topology_.see(0, given);
  topology_.see(1, given);
  RecordRow made = row(1, SlotKind::kOutput, 0, 2, 1);
  made.set_desc({DType::kInt32, {}});
  topology_.see(1, made);
  const auto layer = topology_.layers().at(0);
  const auto model = topology_.models().at(0);
  for (const auto& document : {layer, model}) {
    ASSERT_EQ(document.types.size(), 2U);
    const OperationTypes& cast = document.types.at("CastOperation_0_0");
    ASSERT_EQ(cast.inputs.size(), 1U);
    EXPECT_EQ(cast.inputs[0].dtype, DType::kFloat16);
    EXPECT_EQ(cast.inputs[0].shape, Shape({2, 3}));
    ASSERT_EQ(cast.outputs.size(), 1U);
    EXPECT_EQ(cast.outputs[0].dtype, DType::kInt32);
    EXPECT_EQ(cast.outputs[0].shape, Shape());
    EXPECT_TRUE(document.types.at("Layer_0").outputs.empty());
  }
}

}  // namespace
}  // namespace tensortap::msit
