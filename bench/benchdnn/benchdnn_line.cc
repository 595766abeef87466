#include "bench/benchdnn/benchdnn_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/benchdnn/benchdnn_batch.h"
#include "bench/benchdnn/benchdnn_descriptor.h"
#include "bench/benchdnn/benchdnn_drivers.h"
#include "bench/benchdnn/benchdnn_values.h"
#include "bench/command_line/command.h"
#include "harness/text/one_line.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

// Every function throws NotTranslated for what the language cannot say.
class LineWriter {
 public:
  LineWriter(const TraceRow& row, const BenchdnnDriver& driver)
      : row_(row), driver_(driver), text_(fmt::format("--{}", driver.name)) {}

  std::string Write() {
    const std::string_view name = driver_.name;
    if (name == "conv" || name == "deconv" || name == "ip") {
      WriteProduct();
    } else if (name == "matmul") {
      WriteMatmul();
    } else if (name == "pool" || name == "resampling") {
      WriteWindow();
    } else if (name == "softmax" || name == "reorder" || name == "reduction") {
      WriteSrcAndDst();
    } else if (name == "sum" || name == "binary" || name == "concat") {
      WriteSources();
    } else {
      WriteData();
    }
    WritePostOps();
    return text_ + " " + Problem();
  }

 private:
  std::string Default(std::string_view name) const {
    for (const BenchdnnOption& option : driver_.options) {
      if (option.name == name) return std::string(option.value);
    }
    return {};
  }

  void Add(std::string_view name, const std::string& value) {
    if (LowerCase(value) != LowerCase(Default(name))) text_ += fmt::format(" --{}={}", name, value);
  }

  const TracedTensor* Find(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      for (const TracedTensor& tensor : row_.tensors) {
        if (tensor.name == name && tensor.present()) return &tensor;
      }
    }
    return nullptr;
  }

  const TracedTensor& Get(std::initializer_list<std::string_view> names) const {
    const TracedTensor* const tensor = Find(names);
    if (tensor == nullptr) {
      throw NotTranslated(fmt::format("the row describes no tensor {}", *names.begin()));
    }
    return *tensor;
  }

  bool IsWinograd() const { return WordOf("alg").ends_with("convolution_winograd"); }

  std::string TagOf(const TracedTensor& tensor) const {
    const bool winograd = IsWinograd();
    if (tensor.format_kind == "any" || (winograd && tensor.format_kind != "blocked")) return "any";
    if (tensor.format_kind != "blocked" || !tensor.strides.empty() || !tensor.extra.empty()) {
      throw NotTranslated(
          fmt::format("benchdnn has no tag for {} in {}", tensor.name, tensor.LayoutText()));
    }
    return tensor.layout;
  }

  static int RankOf(const TracedTensor& tensor) {
    return static_cast<int>(std::find_if(tensor.layout.begin(), tensor.layout.end(),
                                         [](char c) { return c >= '0' && c <= '9'; }) -
                            tensor.layout.begin());
  }

  void AddTag(std::string_view name, const TracedTensor& tensor) {
    const std::string tag = TagOf(tensor);
    if (tag == LayoutTag(Default(name), RankOf(tensor))) return;
    text_ += fmt::format(" --{}={}", name, tag);
  }

  // benchdnn has one tag for several tensors.
  void AddCommonTag(std::string_view name) {
    const TracedTensor& first = Get({"data", "src", "diff_src", "dst"});
    for (const TracedTensor& tensor : row_.tensors) {
      if (tensor.name == "ws" || !tensor.present() || tensor.name.find("scratch") == 0) continue;
      if (TagOf(tensor) != TagOf(first) || tensor.type != first.type) {
        throw NotTranslated(
            fmt::format("benchdnn has one tag and type for {} and {}", first.name, tensor.name));
      }
    }
    AddTag(name, first);
  }

  void AddTypes(std::initializer_list<const TracedTensor*> tensors) {
    std::vector<std::string> types;
    for (const TracedTensor* const tensor : tensors) types.push_back(tensor->type);
    const bool same = std::count(types.begin(), types.end(), types.front()) ==
                      static_cast<std::ptrdiff_t>(types.size());
    Add("dt", same ? types.front() : fmt::format("{}", fmt::join(types, ":")));
  }

  // A bias in f32 has a direction of its own; recent versions of benchdnn have an option for
  // every bias.
  void AddDirection(const TracedTensor* bias, bool all_f32) {
    const std::string& prop = row_.prop_kind;
    const bool named = bias != nullptr && (!all_f32 || prop == "forward_inference");
    const bool own = bias != nullptr && !named;
    if (prop == "forward_inference") {
      Add("dir", "FWD_I");
    } else if (prop.starts_with("forward")) {
      Add("dir", own ? "FWD_B" : "FWD_D");
    } else if (prop == "backward_data") {
      Add("dir", "BWD_D");
    } else if (prop == "backward_weights") {
      Add("dir", own ? "BWD_WB" : "BWD_W");
    } else if (prop == "backward") {
      Add("dir", "BWD_DW");
    } else {
      throw NotTranslated(fmt::format("benchdnn has no direction {}", prop));
    }
    if (named) text_ += fmt::format(" --bia-dt={}", bias->type);
  }

  // The text after "NAME:" in the auxiliary field.
  std::string WordOf(std::string_view name) const {
    for (const std::string_view word : SplitText(row_.auxiliary, " ")) {
      if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == ':') {
        return std::string(word.substr(name.size() + 1));
      }
    }
    return {};
  }

  void WriteProduct() {
    const TracedTensor& src = Get({"src", "diff_src"});
    const TracedTensor& weights = Get({"wei", "diff_wei"});
    const TracedTensor& dst = Get({"dst", "diff_dst"});
    const TracedTensor* const bias =
        row_.prop_kind == "backward_data" ? nullptr : Find({"bia", "diff_bia"});
    AddDirection(bias, bias != nullptr && bias->type == "f32" && src.type == "f32" &&
                           weights.type == "f32" && dst.type == "f32");
    AddTypes({&src, &weights, &dst});
    AddTag("stag", src);
    AddTag("wtag", weights);
    AddTag("dtag", dst);
    if (IsWinograd()) Add("alg", "WINO");
  }

  void WriteMatmul() {
    if (Find({"bia"}) != nullptr) {
      throw NotTranslated("a matmul with a bias is not written for benchdnn");
    }
    const TracedTensor& src = Get({"src"});
    const TracedTensor& weights = Get({"wei"});
    const TracedTensor& dst = Get({"dst"});
    AddTypes({&src, &weights, &dst});
    // (the default depends on benchdnn's version)
    text_ += fmt::format(" --stag={} --wtag={} --dtag={}", TagOf(src), TagOf(weights), TagOf(dst));
  }

  void WriteWindow() {
    AddDirection(nullptr, false);
    AddTypes({&Get({"src", "diff_src"})});
    AddCommonTag("tag");
    std::string algorithm = WordOf("alg");
    for (const auto& [from, to] :
         {std::pair{"pooling_max", "max"}, std::pair{"pooling_avg_exclude_padding", "avg_np"},
          std::pair{"pooling_avg_include_padding", "avg_p"}, std::pair{"pooling_avg", "avg_p"},
          std::pair{"resampling_nearest", "nearest"}, std::pair{"resampling_linear", "linear"}}) {
      if (algorithm == from) algorithm = to;
    }
    Add("alg", algorithm);
  }

  void WriteSrcAndDst() {
    const TracedTensor& src = Get({"src", "data", "diff_src"});
    const TracedTensor* const dst = Find({"dst", "diff_dst"});
    if (driver_.name == "softmax") AddDirection(nullptr, false);
    Add("sdt", src.type);
    Add("ddt", (dst == nullptr ? src : *dst).type);
    AddTag("stag", src);
    AddTag("dtag", dst == nullptr ? src : *dst);
    if (driver_.name == "softmax") {
      Add("alg", WordOf("alg") == "softmax_log" ? "LOGSOFTMAX" : "SOFTMAX");
      if (!WordOf("axis").empty()) Add("axis", WordOf("axis"));
    } else if (driver_.name == "reduction") {
      std::string algorithm = WordOf("alg");
      if (algorithm.starts_with("reduction_")) algorithm.erase(0, std::string("reduction_").size());
      Add("alg", algorithm);
      // (the others ignore p, which a log then gives as 0)
      if (algorithm.starts_with("norm_lp_")) {
        Add("p", WordOf("p"));
        Add("eps", WordOf("eps"));
      }
    }
  }

  void WriteSources() {
    std::vector<std::string> types;
    std::vector<std::string> tags;
    for (const TracedTensor& tensor : row_.tensors) {
      if (tensor.name != "src" || !tensor.present()) continue;
      types.push_back(tensor.type);
      tags.push_back(TagOf(tensor));
    }
    if (tags.empty()) throw NotTranslated("the row describes no tensor src");
    const bool concat = driver_.name == "concat";
    if (concat && std::count(types.begin(), types.end(), types.front()) !=
                      static_cast<std::ptrdiff_t>(types.size())) {
      throw NotTranslated("benchdnn's concat has sources of one type");
    }
    Add("sdt", concat ? types.front() : fmt::format("{}", fmt::join(types, ":")));
    const TracedTensor& dst = Get({"dst"});
    Add("ddt", dst.type);
    text_ += fmt::format(" --stag={} --dtag={}", fmt::join(tags, ":"), TagOf(dst));
    if (concat) Add("axis", WordOf("axis"));
    if (driver_.name == "binary") {
      std::string algorithm = WordOf("alg");
      if (algorithm.starts_with("binary_")) algorithm.erase(0, std::string("binary_").size());
      Add("alg", algorithm);
    }
  }

  // eltwise, batch normalization, LRN
  void WriteData() {
    AddDirection(nullptr, false);
    AddTypes({&Get({"data", "src", "dst"})});
    AddCommonTag("tag");
    const std::string algorithm = WordOf("alg");
    if (driver_.name == "eltwise") {
      Add("alg", ShortEltwiseName(algorithm));
      if (!WordOf("alpha").empty()) Add("alpha", WordOf("alpha"));
      if (!WordOf("beta").empty()) Add("beta", WordOf("beta"));
    } else if (driver_.name == "lrn") {
      Add("alg", algorithm == "lrn_within_channel" ? "WITHIN" : "ACROSS");
    } else {
      Add("flags", WordOf("flags"));
    }
  }

  void WritePostOps() {
    if (row_.attributes.empty()) return;
    constexpr std::string_view kPostOps = "attr-post-ops:";
    std::string value;
    for (const std::string_view one :
         SplitText(std::string_view(row_.attributes)
                       .substr(std::min(kPostOps.size(), row_.attributes.size())),
                   "+")) {
      if (!value.empty()) value += "+";
      value += ShortEltwiseName(one.substr(0, one.find(':')));
      if (const std::size_t colon = one.find(':'); colon != std::string_view::npos) {
        value += one.substr(colon);
      }
    }
    const bool known = row_.attributes.starts_with(kPostOps) &&
                       value.find_first_of(" ,") == std::string::npos &&
                       value.find("binary_") == std::string::npos;
    if (!known)
      throw NotTranslated(
          fmt::format("topdnn does not write {} for benchdnn", OneLine(row_.attributes)));
    text_ += " --attr-post-ops=" + value;
  }

  std::string Problem() const {
    const auto printable = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_' || c == ':' || c == '.' ||
             c == '-' || c == '+';
    };
    if (row_.problem.empty() || !std::all_of(row_.problem.begin(), row_.problem.end(), printable)) {
      throw NotTranslated(fmt::format("benchdnn has no problem '{}'", OneLine(row_.problem)));
    }
    // A log has neither alpha nor k, so the line has the values that topdnn measures with.
    const bool lrn = driver_.name == "lrn" && row_.problem.find("alpha") == std::string::npos;
    return row_.problem + (lrn ? "alpha0.0001k1" : "");
  }

  const TraceRow& row_;
  const BenchdnnDriver& driver_;
  std::string text_;
};

const BenchdnnDriver& DriverOf(const TraceRow& row) {
  std::string_view primitive = row.primitive;
  constexpr std::string_view kSecond = "_v2";
  if (primitive.ends_with(kSecond)) primitive.remove_suffix(kSecond.size());
  for (const std::string& name : BenchdnnDriverNames()) {
    const BenchdnnDriver* const driver = FindBenchdnnDriver(name);
    if (driver->primitive == primitive && driver->row != nullptr) return *driver;
  }
  throw NotTranslated(fmt::format("topdnn does not write lines for {}", OneLine(row.primitive)));
}

}  // namespace

std::string BenchdnnLine::Printed(const std::string& name) const {
  return text.empty() ? fmt::format("# {}: {}", OneLine(name), OneLine(reason)) : text;
}

BenchdnnLine BenchdnnLineOf(const TraceRow& row) {
  try {
    std::string text = LineWriter(row, DriverOf(row)).Write();
    // The line must be readable again.
    const std::vector<TraceRow> read =
        ParseBenchdnnText(text, row.primitive, /*is_file=*/false,
                          [](const std::string& path) -> std::string { throw UsageError(path); });
    if (read.size() != 1) throw NotTranslated("its fields have characters of benchdnn's lists");
    return {std::move(text), {}};
  } catch (const NotTranslated& error) {
    return {{}, error.what()};
  } catch (const UsageError& error) {
    return {{}, error.what()};
  } catch (const BenchdnnError& error) {
    return {{}, error.what()};
  }
}

}  // namespace topdnn
