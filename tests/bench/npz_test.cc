#include "bench/formats/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <tuple>

#include "harness/files/atomic_file.h"
#include "harness/text/errors.h"
#include "tests/datasets/files.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

// The message of the error that `call` throws: one line.
std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

NpyArray Floats(Shape shape, float first) {
  Tensor tensor(std::move(shape));
  for (float& value : tensor.values<float>()) value = first++;
  return ToNpy(tensor);
}

TEST(NpzTest, ArraysOfEveryTypeAndShapeRoundTrip) {
  const TestFolder folder;
  const std::string path = folder.path() / "a.npz";
  NamedArrays arrays = {{"weights/conv1/weights", Floats({2, 3, 4, 5}, 1)},
                        {"loss", Floats(Shape{}, 2.5F)},
                        {"empty", {Shape{0, 3}, DataType::kF32, {}}}};
  for (const DataType type :
       {DataType::kF64, DataType::kS32, DataType::kS64, DataType::kS8, DataType::kU8}) {
    Tensor tensor(Shape{7}, type);
    FromDouble(std::vector<double>{1, 2, 3, 4, 5, 6, 7}, tensor.desc(), tensor.data());
    arrays.emplace_back(std::string(NameOf(type)), ToNpy(tensor));
  }
  WriteNpz(path, arrays);
  const NamedArrays read = ReadNpz(path);
  ASSERT_EQ(read.size(), arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(read[i].first, arrays[i].first);
    EXPECT_EQ(read[i].second.shape, arrays[i].second.shape);
    EXPECT_EQ(read[i].second.type, arrays[i].second.type);
    EXPECT_EQ(read[i].second.data, arrays[i].second.data);
  }
}

TEST(NpzTest, AnArrayHasNumPysFormat) {
  const std::vector<std::byte> bytes = EncodeNpy(Floats({2, 3}, 0));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_NE(text.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }"),
            std::string::npos);
  EXPECT_EQ((bytes.size() - 6 * sizeof(float)) % 64, 0u);
  EXPECT_EQ(text[bytes.size() - 6 * sizeof(float) - 1], '\n');
}

TEST(NpzTest, EveryTruncatedArrayIsRefused) {
  const std::vector<std::byte> whole = EncodeNpy(Floats({2, 3}, 0));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(DecodeNpy(cut, "cut.npy"), InputError) << size;
  }
}

TEST(NpzTest, AHostileHeaderAllocatesNothing) {
  std::vector<std::byte> bytes = EncodeNpy(Floats({2, 3}, 0));
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t at = text.find("(2,3,)");
  text.replace(at, 12, "(99999999999");
  std::memcpy(bytes.data(), text.data(), bytes.size());
  EXPECT_THROW(DecodeNpy(bytes, "hostile.npy"), InputError);
}

// The number of bytes may overflow to the number of bytes in the file.
TEST(NpzTest, AShapeWhoseBytesOverflowIsRefused) {
  for (const auto& [type, extents, data] :
       {std::tuple("<f8", "2305843009213693952", 0), std::tuple("<f8", "2305843009213693953", 8),
        std::tuple("<f4", "4611686018427387904", 0),
        std::tuple("<f4", "99999999999,99999999", 0)}) {
    const std::string header = std::string("{'descr': '") + type +
                               "', 'fortran_order': False, 'shape': (" + extents + ",), }\n";
    std::string text("\x93NUMPY\x01\x00", 8);
    text += static_cast<char>(header.size());
    text += '\0';
    text += header + std::string(static_cast<std::size_t>(data), 'x');
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    EXPECT_THAT(ErrorOf([&] { DecodeNpy(bytes, "huge.npy"); }),
                testing::AllOf(HasSubstr("huge.npy"), HasSubstr("too large for memory")));
  }
}

// Python's zipfile writes entries as NumPy does, and reads our archives without NumPy.
TEST(NpzTest, PythonReadsOursAndWeReadPythons) {
  if (std::system("python3 -c ''") != 0) GTEST_SKIP() << "python3 is not installed";
  const TestFolder folder;
  WriteNpz(folder.path() / "ours.npz",
           {{"weights/conv1/weights", Floats({2, 3}, 1)}, {"loss", Floats(Shape{}, 2.5F)}});
  const auto script = folder.Write("check.py", R"(
import ast, struct, sys, zipfile
folder = sys.argv[1]
def parse(raw):
    assert raw[:8] == b'\x93NUMPY\1\0'
    end = 10 + struct.unpack('<H', raw[8:10])[0]
    assert end % 64 == 0 and raw[end - 1:end] == b'\n'
    return ast.literal_eval(raw[10:end].decode()), raw[end:]
with zipfile.ZipFile(folder + '/ours.npz') as ours:
    assert ours.testzip() is None
    assert ours.namelist() == ['weights/conv1/weights.npy', 'loss.npy']
    header, data = parse(ours.read('weights/conv1/weights.npy'))
    assert header == {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}
    assert struct.unpack('<6f', data) == (1, 2, 3, 4, 5, 6)
    header, data = parse(ours.read('loss.npy'))
    assert header['shape'] == () and struct.unpack('<f', data) == (2.5,)
def entry(shape, data):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    text += ' ' * (-(len(text) + 11) % 64) + '\n'
    return b'\x93NUMPY\1\0' + struct.pack('<H', len(text)) + text.encode() + data
six = struct.pack('<6f', 1, 2, 3, 4, 5, 6)
for name, method in (('stored', zipfile.ZIP_STORED), ('deflated', zipfile.ZIP_DEFLATED)):
    with zipfile.ZipFile(folder + '/' + name + '.npz', 'w', method) as theirs:
        with theirs.open('grad/conv1/weights.npy', 'w', force_zip64=True) as file:
            file.write(entry('(2, 3)', six))
with zipfile.ZipFile(folder + '/bomb.npz', 'w', zipfile.ZIP_DEFLATED) as bomb:
    bomb.writestr('a.npy', entry('(1,)', bytes(1 << 24)))
)");
  const std::string command = "python3 '" + script.string() + "' '" + folder.path().string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const NpyArray expected = Floats({2, 3}, 1);
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const NamedArrays read = ReadNpz(folder.path() / name);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].first, "grad/conv1/weights");
    EXPECT_EQ(read[0].second.shape, expected.shape);
    EXPECT_EQ(read[0].second.data, expected.data);
  }
  // 16 MiB of compressible data: refused at the first superfluous byte, not after the last.
  EXPECT_THAT(ErrorOf([&] { ReadNpz(folder.path() / "bomb.npz"); }),
              testing::AllOf(HasSubstr("bomb.npz: a.npy: too long"), HasSubstr("4 bytes")));
}

// An entry that is not read is not unpacked: the damaged data of this entry causes no error.
TEST(NpzTest, OpeningReadsOnlyHeaders) {
  const TestFolder folder;
  const std::string path = folder.path() / "a.npz";
  WriteNpz(path, {{"first", Floats({2, 3}, 1)}, {"second", Floats({5}, 7)}});
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t header = text.find("'shape': (2,3,)");
  ASSERT_NE(header, std::string::npos);
  file.seekp(static_cast<std::streamoff>(text.find('\n', header) + 1));
  file.put('\x7f');
  file.close();
  const NpzReader reader(path);
  ASSERT_EQ(reader.entries().size(), 2u);
  EXPECT_EQ(reader.entries()[0].name, "first");
  EXPECT_EQ(reader.entries()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(reader.Read(1).data, Floats({5}, 7).data);
  EXPECT_THAT(ErrorOf([&] { reader.Read(0); }), HasSubstr("a.npz: first.npy: damaged"));
}

TEST(NpzTest, AnArchiveReplacesTheOldOneAndLeavesNoOtherFile) {
  const TestFolder folder;
  const auto path = folder.path() / "a.npz";
  WriteNpz(path, {{"old", Floats({1}, 0)}});
  WriteNpz(path, {{"new", Floats({2}, 0)}});
  ASSERT_EQ(ReadNpz(path).size(), 1u);
  EXPECT_EQ(ReadNpz(path)[0].first, "new");
  EXPECT_THROW(WriteNpz(path, {{"twice", Floats({1}, 0)}, {"twice", Floats({1}, 0)}}), InputError);
  EXPECT_EQ(ReadNpz(path)[0].first, "new");  // a failure does not change the file
  using Files = std::filesystem::directory_iterator;
  EXPECT_EQ(std::distance(Files(folder.path()), Files()), 1);
}

TEST(NpzTest, APathThatIsNotAFileIsNotReplaced) {
  const TestFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto refusal = [](const std::filesystem::path& path) {
    return ErrorOf([&] { WriteNpz(path, {{"x", Floats({1}, 0)}}); });
  };
  EXPECT_THAT(refusal(pipe), HasSubstr("it is not a regular file; give another path"));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("Is a directory; name a file"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_THAT(ErrorOf([&] { WriteNpz(folder.path() / "empty.npz", {}); }),
              HasSubstr("no arrays to write"));
}

TEST(NpzTest, InvalidArchivesAndFailedWritesAreOneLine) {
  const TestFolder folder;
  const auto text = folder.Write("text.npz", "not a zip file");
  EXPECT_THROW(ReadNpz(text), InputError);
  EXPECT_THROW(ReadNpz(folder.path() / "none.npz"), InputError);
  EXPECT_THROW(WriteNpz(folder.path() / "none" / "a.npz", {{"x", Floats({1}, 0)}}), InputError);
}

}  // namespace
}  // namespace topdnn
