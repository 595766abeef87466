#include "tests/networks/onnx/run_model.h"

#include <gtest/gtest.h>

#include "networks/planner.h"

namespace topdnn {

std::vector<double> RunGraph(const Graph& graph, const ParameterValues& parameters,
                             const std::vector<double>& input, const std::string& backend) {
  PlanRequest request;
  request.backend = backend;
  request.training = false;
  request.fallback = {"reference"};
  const auto plan = MakePlan(graph, request);
  plan->Allocate();
  WriteParameters(*plan, parameters);
  plan->Write(plan->Find(BufferRole::kInput), input);
  plan->Run();
  return plan->Read(plan->Find(BufferRole::kOutput));
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
