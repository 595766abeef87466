// The lines of a resctrl `schemata` file, and its capacity masks:
//
//   L3:0=fff;1=ff0     a mask in hexadecimal digits for each domain (a cache; often a socket)
//   L3CODE:0=f         with code and data prioritisation (CDP) a resource has two lines
//   MB:0=100;1=50      memory bandwidth: percent
//
// Parsing is pure, and the text is not trusted.

#ifndef TOPDNN_HARNESS_RESCTRL_SCHEMATA_H_
#define TOPDNN_HARNESS_RESCTRL_SCHEMATA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace topdnn {

// By domain: a mask, or a bandwidth.
using DomainValues = std::map<int, std::uint64_t>;
// By resource: "L3", "L2", "L3CODE", "MB".
using Schemata = std::map<std::string, DomainValues>;

// Whether the resource's values are decimal numbers (MB, SMBA), and not masks.
bool IsBandwidth(std::string_view resource);

// Absent if a line is not of this form. Lines of a pseudo-locked setup ("L3:uninitialized") are
// omitted.
std::optional<Schemata> ParseSchemata(std::string_view text);
// One line for each resource. Each line ends with a newline, which the kernel requires.
std::string SchemataText(const Schemata& schemata);

// "fff" or "0xfff"; absent for other text and for more than 64 bits.
std::optional<std::uint64_t> ParseMask(std::string_view text);
std::string MaskText(std::uint64_t mask);  // "0xfff"

// What a cache's control accepts.
struct MaskRules {
  std::uint64_t all = 0;        // cbm_mask
  int least_bits = 1;           // min_cbm_bits
  bool sparse = false;          // sparse_masks: the bits need not be adjacent
  std::uint64_t shareable = 0;  // shareable_bits: the ways that other hardware uses, too
};

// Why the kernel would refuse the mask, with the fix; empty if it accepts it. The rules are those
// of cbm_validate (Linux, arch/x86/kernel/cpu/resctrl/ctrlmondata.c).
std::string MaskProblem(std::uint64_t mask, const MaskRules& rules);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_RESCTRL_SCHEMATA_H_
