// The control socket: its protocol, and that no client can disturb a run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "harness/text/errors.h"
#include "harness/width/control_socket.h"
#include "harness/width/width_watcher.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

// A connection of a client.
class Client {
 public:
  explicit Client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const timeval patience = {20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  bool Send(const std::string& packet, int flags = 0) const {
    return send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL | flags) ==
           static_cast<ssize_t>(packet.size());
  }
  // Empty: the connection is over.
  std::string Receive() const {
    std::array<char, 8192> reply;
    const ssize_t bytes = recv(fd_, reply.data(), reply.size(), 0);
    return bytes <= 0 ? "" : std::string(reply.data(), static_cast<std::size_t>(bytes));
  }
  std::string Ask(const std::string& packet) const { return Send(packet) ? Receive() : ""; }

 private:
  int fd_;
  bool connected_ = false;
};

// A socket that is served while a run (a thread that computes) continues.
class ControlSocketTest : public testing::Test {
 protected:
  void Serve(uid_t user = geteuid()) {
    std::vector<std::unique_ptr<WidthSource>> sources;
    sources.push_back(std::make_unique<ControlSocket>(control_, path_, user));
    watcher_ = std::make_unique<WidthWatcher>(std::move(sources));
  }

  TestFolder folder_;
  std::string path_ = (folder_.path() / "control").string();
  WidthControl control_{1, 4, 2};
  std::unique_ptr<WidthWatcher> watcher_;
};

constexpr const char* kStatus = R"({"request":"status"})";

TEST_F(ControlSocketTest, RepliesWithTheStatus) {
  control_.ReportWidth(2);
  control_.ReportIterations(17);
  Serve();
  const Json reply = Json::parse(Client(path_).Ask(kStatus));
  EXPECT_EQ(reply, (Json{{"ok", true},
                         {"width", 2},
                         {"wanted", 2},
                         {"min", 1},
                         {"max", 4},
                         {"limit", nullptr},
                         {"iterations", 17},
                         {"pid", getpid()}}));
}

TEST_F(ControlSocketTest, SetsTheWidthAndStops) {
  Serve();
  const Client client(path_);
  const Json reply = Json::parse(client.Ask(R"({"request":"set_width","width":3})"));
  EXPECT_EQ(reply["wanted"], 3);
  EXPECT_EQ(control_.wanted(), 3);
  EXPECT_FALSE(control_.stopped());
  EXPECT_EQ(Json::parse(client.Ask(R"({"request":"stop"})"))["ok"], true);
  EXPECT_TRUE(control_.stopped());
}

TEST_F(ControlSocketTest, ItsFileIsOnlyForTheUserAndIsRemoved) {
  Serve();
  struct stat file = {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  watcher_.reset();
  EXPECT_NE(stat(path_.c_str(), &file), 0);
}

TEST_F(ControlSocketTest, AnotherUsersProcessIsRefused) {
  Serve(geteuid() + 1);
  const Client client(path_);
  EXPECT_THAT(client.Receive(), HasSubstr("another user"));
  client.Send(R"({"request":"set_width","width":3})");
  EXPECT_EQ(client.Receive(), "");
  EXPECT_EQ(control_.wanted(), 2);
}

TEST_F(ControlSocketTest, ASocketInUseIsRefused) {
  Serve();
  WidthControl other(1, 2, 1);
  try {
    const ControlSocket second(other, path_, geteuid());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("another process has this socket open"));
  }
  EXPECT_NE(Client(path_).Ask(kStatus), "");  // the first one still serves
}

TEST_F(ControlSocketTest, TheFileOfADeadProcessIsReplaced) {
  {
    const int dead = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(dead);
  }
  Serve();
  EXPECT_NE(Client(path_).Ask(kStatus), "");
}

TEST_F(ControlSocketTest, AFileThatIsNoSocketStays) {
  std::ofstream(path_) << "mine";
  EXPECT_THROW(Serve(), InputError);
  std::ifstream file(path_);
  std::string text;
  file >> text;
  EXPECT_EQ(text, "mine");
}

TEST_F(ControlSocketTest, ALongPathIsRefusedInOneLine) {
  path_ = (folder_.path() / std::string(120, 'x')).string();
  try {
    Serve();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("at most 107 bytes"));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(ControlMessages, RefusesWhatIsNoRequest) {
  WidthControl control(1, 4, 2);
  const std::string deep(4096, '[');
  for (const std::string& packet :
       std::vector<std::string>{"",
                                "{",
                                "null",
                                "[]",
                                "7",
                                "\"set_width\"",
                                "{}",
                                R"({"request":7})",
                                R"({"request":"set_width"})",
                                R"({"request":"set_width","width":"2"})",
                                R"({"request":"set_width","width":2.5})",
                                R"({"request":"set_width","width":null})",
                                R"({"request":"set_width","width":NaN})",
                                R"({"request":"set_width","width":1e999})",
                                R"({"request":"set_width","width":0})",
                                R"({"request":"set_width","width":-1})",
                                R"({"request":"set_width","width":5})",
                                R"({"request":"set_width","width":18446744073709551615})",
                                R"({"request":"set_width","width":4294967297})",
                                R"({"request":"set_width","width":99999999999999999999999})",
                                R"({"request":"set_width","width":true})",
                                R"({"request":"set_width","width":[2]})",
                                R"({"request":"SET_WIDTH","width":3})",
                                std::string("\0\xff\xfe", 3),
                                deep,
                                std::string(4097, ' ')}) {
    const std::string reply = AnswerControl(packet, 1, control);
    const Json json = Json::parse(reply);
    EXPECT_EQ(json["ok"], false) << packet.substr(0, 60);
    EXPECT_EQ(json["error"].get<std::string>().find('\n'), std::string::npos);
    EXPECT_LT(reply.size(), 4096U + 256U);
  }
  EXPECT_EQ(control.wanted(), 2);
  EXPECT_FALSE(control.stopped());
}

// A packet that is not a request: random bytes, a cut request, nested brackets, wrong values.
std::string Malformed(std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::string valid = R"({"request":"set_width","width":3})";
  switch (below(6)) {
    case 0: {
      std::string bytes(1 + below(300), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      return bytes;
    }
    case 1:
      return valid.substr(0, 1 + below(valid.size() - 1));
    case 2:
      return std::string(1 + below(4000), "[{"[below(2)]);
    case 3:
      return R"({"request":"set_width","width":)" + std::string(1 + below(400), '9') + "}";
    case 4:
      return R"({"request":"set_width","width":NaN})";
    default:
      return std::string(4097 + below(60000), 'x');
  }
}

TEST_F(ControlSocketTest, ARunContinuesBesideMalformedPackets) {
  Serve();
  std::atomic<bool> ended = false;
  std::atomic<std::int64_t> steps = 0;
  double sum = 0;
  std::thread run([&] {
    while (!ended || steps == 0) {
      sum = 0;
      for (int i = 1; i <= 1000; ++i) sum += control_.width() * 1.0 / i;
      control_.ReportIterations(++steps);
    }
  });
  std::mt19937_64 random(1);
  constexpr int kClients = 4;
  std::atomic<int> refused = 0;
  std::vector<std::thread> senders;
  for (int client = 0; client < kClients; ++client) {
    senders.emplace_back([&, seed = random()] {
      std::mt19937_64 own(seed);
      const Client connection(path_);
      for (int i = 0; i < 100'000 / kClients; ++i) {
        if (connection.Ask(Malformed(own)).starts_with(R"({"ok":false)")) ++refused;
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  ended = true;
  run.join();
  EXPECT_EQ(refused, 100'000);
  EXPECT_EQ(control_.wanted(), 2);
  EXPECT_FALSE(control_.stopped());
  EXPECT_NEAR(sum, 2 * 7.485470860550345, 1e-9);  // twice the 1000th harmonic number
  EXPECT_NE(Client(path_).Ask(kStatus), "");
}

TEST_F(ControlSocketTest, AClientThatNeverReadsLosesItsConnection) {
  Serve();
  const Client slow(path_);
  int sent = 0;
  while (sent < 100'000 && slow.Send(kStatus)) ++sent;
  EXPECT_LT(sent, 100'000);
  EXPECT_NE(Client(path_).Ask(kStatus), "");
}

TEST_F(ControlSocketTest, ServesSixteenOfAHundredConnections) {
  Serve();
  std::vector<std::unique_ptr<Client>> clients;
  int served = 0;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<Client>(path_));
    ASSERT_TRUE(clients.back()->connected());
    // The first packet that a refused client receives is the refusal.
    served += clients.back()->Ask(kStatus).starts_with(R"({"ok":true)") ? 1 : 0;
  }
  EXPECT_EQ(served, 16);
  clients.clear();
  std::string reply;
  for (int i = 0; i < 200 && !reply.starts_with(R"({"ok":true)"); ++i) {
    reply = Client(path_).Ask(kStatus);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(reply, HasSubstr("\"ok\":true"));
}

}  // namespace
}  // namespace topdnn
