#include "tests/networks/onnx/run_model.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

#include "networks/planning/planner.h"

namespace topdnn {

namespace {

// A plan with its parameters.
std::unique_ptr<Plan> PlanOf(const Graph& graph, const ParameterValues& parameters,
                             const std::string& backend) {
  PlanRequest request;
  request.backend = backend;
  request.training = false;
  request.fallback = {"reference"};
  auto plan = MakePlan(graph, request);
  plan->Allocate();
  WriteParameters(*plan, parameters);
  return plan;
}

}  // namespace

std::vector<double> RunGraph(const Graph& graph, const ParameterValues& parameters,
                             const std::vector<double>& input, const std::string& backend) {
  const auto plan = PlanOf(graph, parameters, backend);
  plan->Write(plan->Find(BufferRole::kInput), input);
  plan->Run();
  return plan->Read(plan->Find(BufferRole::kOutput));
}

NamedValues RunNetwork(const ImportedNetwork& network, const NamedValues& inputs,
                       const std::string& backend) {
  const auto plan = PlanOf(network.graph, network.parameters, backend);
  for (std::size_t i = 0; i < network.inputs.size(); ++i) {
    plan->Write(plan->inputs()[i], inputs.at(network.inputs[i].name));
  }
  plan->Run();
  NamedValues outputs;
  for (std::size_t i = 0; i < network.outputs.size(); ++i) {
    outputs[network.outputs[i].name] = plan->Read(plan->outputs()[i]);
  }
  return outputs;
}

std::string RefusalOf(const std::string& bytes, const ImportOptions& options) {
  try {
    ImportOnnx(bytes, options);
  } catch (const OnnxError& error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "the model was not refused";
  return "";
}

}  // namespace topdnn
