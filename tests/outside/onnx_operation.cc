// Adds an operation to the ONNX import, `Outside`, which passes its input on.

#include "networks/onnx/import/node_import.h"

namespace topdnn {

namespace {

const NodeRegistration kOutside("Outside",
                                [](NodeImport& node) { node.Produce(node.SourceAt(0)); });

}  // namespace

}  // namespace topdnn
