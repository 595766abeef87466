#include "bench/profile/limits/convolution_account.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "harness/text/grouped_digits.h"

namespace topdnn {

namespace {

// Additions and comparisons besides the sums of products. The definition counts none of them.
double EpilogueOf(const ConvOp& op, Pass pass) {
  const ConvEpilogue& epilogue = op.epilogue();
  const auto outputs = static_cast<double>(op.dst_shape().elements());
  if (pass == Pass::kBackwardData) return 0;
  if (pass == Pass::kBackwardWeights) return epilogue.bias ? outputs : 0;
  return outputs * (int{epilogue.bias} + int{epilogue.sum} + int{epilogue.relu} +
                    int{epilogue.bound != 0.0F});
}

// 8174272512 -> "8,174,272,512"
std::string Grouped(double value) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::abs(value)));
  return (value < 0 ? "-" : "") + GroupedDigits(whole);
}

}  // namespace

ConvolutionAccount AccountFor(std::span<const CountedConvolution> convolutions, Pass pass) {
  ConvolutionAccount account;
  for (const CountedConvolution& convolution : convolutions) {
    if (convolution.execution.pass != pass) continue;
    const Work work = convolution.op->WorkOf(pass, convolution.execution.type);
    const auto defined = static_cast<double>(work.flops);
    const auto padding = static_cast<double>(work.flops - work.flops_without_padding);
    const double epilogue = EpilogueOf(*convolution.op, pass);
    const double beyond = convolution.executed - epilogue - defined;  // -padding if skipped
    const bool skips = padding > 0 && std::abs(beyond + padding) < std::abs(beyond);
    ++account.convolutions;
    account.skipping += skips;
    account.defined += defined;
    account.left_out += skips ? padding : 0;
    account.epilogue += epilogue;
    account.executed += convolution.executed;
  }
  return account;
}

std::vector<std::string> ConvolutionNotes(std::span<const CountedConvolution> convolutions) {
  std::vector<std::string> notes;
  for (const Pass pass : kAllPasses) {
    const ConvolutionAccount a = AccountFor(convolutions, pass);
    if (a.convolutions == 0) continue;
    notes.push_back(fmt::format(
        "the {} convolutions {} executed {} FLOPs: 2 x {} = {} as defined, less {} on padding "
        "(left out by {}), plus {} for biases, shortcuts and ReLUs, plus {} ({:+.4f} %) for "
        "padded channels, masked lanes, partial sums and library code",
        a.convolutions, NameOf(pass), Grouped(a.executed), Grouped(a.defined / 2),
        Grouped(a.defined), Grouped(a.left_out), a.skipping, Grouped(a.epilogue), Grouped(a.rest()),
        a.rest() / a.defined * 100));
  }
  return notes;
}

}  // namespace topdnn
