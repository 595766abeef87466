// Runs the fuzz target of benchdnn's language for some seconds. TOPDNN_FUZZ_SECONDS sets the
// duration: 600 before a release.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/run_fuzzer.h"

namespace topdnn {
namespace {

constexpr const char* kSecondsBenchdnn = "5";

// One line of each driver, in both dialects.
constexpr const char* kLines[] = {
    "--conv --dir=FWD_I,BWD_D --cfg=f32,u8s8s32 --stag=nhwc --attr=post_ops='sum;relu' "
    "--alg=WINO mb1g2ic4oc4_ih5oh5kh3sh1dh0ph1_iw5n\"a:b\"",
    "--conv --dt=bf16:f32:bf16 --bia-dt=f32 --wtag=ABcd16b16a --mb=0,2 ic3id8od4kd3pd1sd2 "
    "ic20oc32_iw13kw1pw0",
    "--ip --attr-post-ops=,relu,clip:0:6+sum:0.5 ic4ih2oc8 --reset --match=.*oc8 ic4oc8",
    "--matmul --wtag=ba --bia_dt=undef --runtime_dims_masks=0:0 10x30:30x20 2x3x4:2x4x5",
    "--pool --alg=max,avg_np --tag=aBx8b ic8ih9kh3sh2ph1",
    "--bnorm --flags=CH,GSR ic8ih3\n--lrn --alg=WITHIN ic8ih3ls3alpha1e-4beta0.5k2",
    "--eltwise --alg=relu,clip_v2_dst --alpha=0.5 --beta=1 2x3",
    "--softmax --axis=1 2x3\n--reorder --sdt=f32 --ddt=bf16 --dtag=OIhw4i16o4i 8x8x3x3",
    "--sum --sdt=f32:f32:f32 --scales=1 2x3\n--binary --alg=ADD 2x3x4:1x3 # comment",
    "--concat --axis=0 --stag=ab:ba 2x3:2x3\n--reduction --alg=mean 2x3x4:2x3x1",
    "--resampling ic2ih3oh6 --deconv ic3oc4ih3kh2 --batch=shapes \\\n"};

TEST(BenchdnnFuzzTest, FindsNothing) {
  RunFuzzer("benchdnn_fuzzer", kSecondsBenchdnn, 1024, [](const std::filesystem::path& corpus) {
    int i = 0;
    for (const char* const line : kLines) std::ofstream(corpus / std::to_string(i++)) << line;
  });
}

}  // namespace
}  // namespace topdnn
