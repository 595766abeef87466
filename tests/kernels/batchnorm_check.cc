#include "tests/kernels/batchnorm_check.h"

#include <cmath>
#include <utility>
#include <vector>

#include "kernels/batchnorm/batchnorm.h"

namespace topdnn {

namespace {

std::vector<double> AbsoluteOf(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  return values;
}

// Sums of |terms| for every result. Rounding errors scale with these sums, so they grow with the
// size of the elements relative to the deviation.
class Magnitude {
 public:
  Magnitude(const BatchNormOp& op, const Execution& execution, Values inputs)
      : op_(op), inputs_(std::move(inputs)) {
    if (execution.pass == Pass::kForward && execution.training) Statistics();
    for (std::size_t i = 0; i < inputs_.at(Arg::kSrc).size(); ++i) {
      const double spread = inputs_[Arg::kVariance][Channel(i)] + static_cast<double>(op.epsilon());
      const double mean = inputs_[Arg::kMean][Channel(i)];
      const double src = inputs_[Arg::kSrc][i];
      inverse_.push_back(1 / std::sqrt(spread));
      normal_.push_back((std::abs(src) + std::abs(mean)) * inverse_.back());
      amplified_.push_back(normal_.back() * (1 + std::abs(src - mean) * inverse_.back()));
    }
    execution.pass == Pass::kForward ? Forward() : Backward();
  }

  const Values& values() const { return values_; }

 private:
  std::size_t Channel(std::size_t i) const {
    return i / static_cast<std::size_t>(op_.image()) % static_cast<std::size_t>(op_.channels());
  }
  double Count() const { return static_cast<double>(op_.batch() * op_.image()); }
  // Sums of the elements of each channel.
  std::vector<double> Sums(const std::vector<double>& elements) const {
    std::vector<double> sums(static_cast<std::size_t>(op_.channels()), 0.0);
    for (std::size_t i = 0; i < elements.size(); ++i) sums[Channel(i)] += elements[i];
    return sums;
  }

  void Statistics() {
    const std::vector<double>& src = inputs_[Arg::kSrc];
    std::vector<double> mean = Sums(src);
    for (double& m : mean) m /= Count();
    std::vector<double> squares(src.size());
    std::vector<double> terms(src.size());
    values_[Arg::kMean] = Sums(AbsoluteOf(src));
    for (double& m : values_[Arg::kMean]) m /= Count();
    for (std::size_t i = 0; i < src.size(); ++i) {
      const double difference = src[i] - mean[Channel(i)];
      squares[i] = difference * difference / Count();
      terms[i] = std::pow(std::abs(difference) + std::abs(src[i]) * 0x1p-10, 2) / Count() +
                 std::abs(difference * src[i]) / Count();
    }
    inputs_[Arg::kMean] = std::move(mean);
    inputs_[Arg::kVariance] = Sums(squares);
    values_[Arg::kVariance] = Sums(terms);
  }

  void Forward() {
    std::vector<double>& dst = values_[Arg::kDst];
    for (std::size_t i = 0; i < normal_.size(); ++i) {
      dst.push_back(std::abs(inputs_[Arg::kScale][Channel(i)]) * amplified_[i] +
                    std::abs(inputs_[Arg::kShift][Channel(i)]));
    }
  }

  void Backward() {
    const std::vector<double> gradient = AbsoluteOf(inputs_[Arg::kDiffDst]);
    std::vector<double> products(gradient);
    for (std::size_t i = 0; i < products.size(); ++i) products[i] *= normal_[i];
    const std::vector<double> shift = Sums(gradient);
    const std::vector<double> scale = Sums(products);
    std::vector<double>& diff_src = values_[Arg::kDiffSrc];
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const std::size_t c = Channel(i);
      diff_src.push_back(std::abs(inputs_[Arg::kScale][c]) * inverse_[i] *
                         (gradient[i] + shift[c] / Count() + normal_[i] * scale[c] / Count()));
    }
    values_[Arg::kDiffShift] = shift;
    values_[Arg::kDiffScale] = scale;
  }

  const BatchNormOp& op_;
  Values inputs_;
  Values values_;
  std::vector<double> inverse_, normal_, amplified_;
};

}  // namespace

Verdict CheckBatchNorm(const std::string& backend, const KernelRequest& request, std::uint64_t seed,
                       CheckOptions options) {
  const auto& op = dynamic_cast<const BatchNormOp&>(*request.op);
  Values inputs = RandomInputs(op, request.execution, seed);
  for (const auto& [arg, values] : options.inputs) inputs[arg] = values;
  options.magnitudes = Magnitude(op, request.execution, inputs).values();
  return CheckAgainstReference(backend, request, seed, options);
}

void SettleImages(KernelRequest& request, const char* tag) {
  for (const Arg arg : {Arg::kSrc, Arg::kDst, Arg::kDiffDst, Arg::kDiffSrc}) {
    if (request.op->Find(request.execution, arg)) request.layouts[arg] = *Layout::Parse(tag);
  }
}

}  // namespace topdnn
