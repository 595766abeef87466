#include "bench/benchdnn/benchdnn_drivers.h"

#include <algorithm>

#include "harness/text/one_line.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

// "stag=abx dtag=": each option with its default.
std::vector<BenchdnnOption> OptionsIn(std::string_view text) {
  std::vector<BenchdnnOption> options;
  for (const std::string_view option : SplitText(text, " ")) {
    const std::size_t equals = option.find('=');
    options.push_back({option.substr(0, equals), option.substr(equals + 1)});
  }
  return options;
}

// matmul: the layouts of the documentation and of benchdnn up to 2.6. Later versions choose them.
const std::vector<BenchdnnDriver>& Drivers() {
  static const std::vector<BenchdnnDriver> kDrivers = {
      {"conv", "convolution",
       OptionsIn("dir=FWD_B dt=f32 cfg= stag=any wtag=any dtag=any bia_dt=undef"
                 " strides= alg=DIRECT mb=0"),
       ConvolutionRow},
      {"deconv", "deconvolution",
       OptionsIn("dir=FWD_B dt=f32 cfg= stag=any wtag=any dtag=any bia_dt=undef"
                 " alg=DIRECT mb=0"),
       DeconvolutionRow},
      {"ip", "inner_product",
       OptionsIn("dir=FWD_B dt=f32 cfg= stag=any wtag=any dtag=any bia_dt=undef mb=0"),
       InnerProductRow},
      {"matmul", "matmul",
       OptionsIn("dt=f32 cfg= stag=abx wtag=abx dtag=abx bia_dt=undef bia_mask=2"
                 " runtime_dims_masks= strides= encoding="),
       MatmulRow},
      {"pool", "pooling", OptionsIn("dir=FWD_D dt=f32 cfg= tag=abx alg=max mb=0"), PoolingRow},
      {"bnorm", "batch_normalization", OptionsIn("dir=FWD_D dt=f32 tag=abx flags= mb=0"),
       BatchNormRow},
      {"lrn", "lrn", OptionsIn("dir=FWD_D dt=f32 tag=abx alg=ACROSS mb=0"), LrnRow},
      {"eltwise", "eltwise", OptionsIn("dir=FWD_D dt=f32 tag=abx alg=RELU alpha=0 beta=0 mb=0"),
       EltwiseRow},
      {"softmax", "softmax",
       OptionsIn("dir=FWD_D sdt=f32 ddt=f32 stag=abx dtag=any alg=SOFTMAX axis=1 mb=0"),
       SoftmaxRow},
      {"reorder", "reorder", OptionsIn("sdt=f32 ddt=f32 stag=abx dtag=abx oflag="), ReorderRow},
      {"sum", "sum", OptionsIn("sdt=f32:f32 ddt=f32 stag=abx dtag=undef scales=1"), SumRow},
      {"binary", "binary", OptionsIn("sdt=f32 ddt=f32 stag=abx dtag=any alg=add"), BinaryRow},
      {"concat", "concat", OptionsIn("sdt=f32 ddt=f32 stag=abx dtag=undef axis=1"), ConcatRow},
      {"reduction", "reduction", OptionsIn("sdt=f32 ddt=f32 stag=abx dtag=any alg=sum p=1 eps=0"),
       ReductionRow},
      {"resampling", "resampling", OptionsIn("dir=FWD_D dt=f32 sdt= ddt= tag=abx alg=nearest mb=0"),
       ResamplingRow},
      {"lnorm", "layer_normalization", {}, nullptr},
      {"gnorm", "group_normalization", {}, nullptr},
      {"prelu", "prelu", {}, nullptr},
      {"rnn", "rnn", {}, nullptr},
      {"shuffle", "shuffle", {}, nullptr},
      {"zeropad", "zero_pad", {}, nullptr},
      {"brgemm", "brgemm", {}, nullptr},
  };
  return kDrivers;
}

}  // namespace

bool BenchdnnDriver::Has(std::string_view option) const {
  return std::any_of(options.begin(), options.end(),
                     [option](const BenchdnnOption& known) { return known.name == option; });
}

const BenchdnnDriver* FindBenchdnnDriver(std::string_view name) {
  for (const BenchdnnDriver& driver : Drivers()) {
    if (driver.name == name) return &driver;
  }
  return nullptr;
}

std::vector<std::string> BenchdnnDriverNames() {
  std::vector<std::string> names;
  for (const BenchdnnDriver& driver : Drivers()) names.emplace_back(driver.name);
  return names;
}

const std::vector<BenchdnnOption>& BenchdnnCommonOptions() {
  static const std::vector<BenchdnnOption> kOptions = [] {
    std::vector<BenchdnnOption> options;
    for (const std::string_view name : BenchdnnAttributes()) options.push_back({name, ""});
    return options;
  }();
  return kOptions;
}

TraceRow BenchdnnRow(const BenchdnnDriver& driver, const BenchdnnChoice& choice,
                     std::string_view problem) {
  TraceRow row;
  if (driver.row != nullptr) {
    row = driver.row(choice, problem);
  } else {
    row.prop_kind = "undef";
    row.problem = OneLine(problem);
  }
  if (row.prop_kind == "backward" && driver.name != "bnorm") {
    throw BenchdnnError("--dir=BWD_DW is a direction of --bnorm; use BWD_D, BWD_W or BWD_WB");
  }
  row.primitive = driver.primitive;
  row.engine = "cpu";
  row.count = 1;
  return row;
}

}  // namespace topdnn
