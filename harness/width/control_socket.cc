#include "harness/width/control_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "harness/text/errors.h"
#include "harness/text/one_line.h"
#include "harness/width/width_watcher.h"

namespace topdnn {

namespace {

// At most this many packets in this time, which takes about a tenth of a CPU.
constexpr int kMostPackets = 1000;
constexpr auto kRatePeriod = kWatchPeriod;

[[noreturn]] void Refuse(const std::string& path, std::string_view why) {
  throw InputError(fmt::format("--control {}: {}", OneLine(path), why));
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty()) Refuse(path, "the path is empty; give the path of a socket");
  if (path.size() >= sizeof address.sun_path) {
    Refuse(path, fmt::format("a socket's path has at most {} bytes, and this one has {}; give a "
                             "shorter one",
                             sizeof address.sun_path - 1, path.size()));
  }
  path.copy(address.sun_path, path.size());
  return address;
}

int NewSocket(const std::string& path) {
  const int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) Refuse(path, fmt::format("no socket: {}", std::strerror(errno)));
  return socket_fd;
}

// Removes the file of a socket that no process has open any more.
void RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat file = {};
  if (lstat(path.c_str(), &file) != 0) return;
  if (!S_ISSOCK(file.st_mode)) Refuse(path, "the file exists and is no socket; give another path");
  const int probe = NewSocket(path);
  const int connected =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  close(probe);
  // (a socket of another type refuses the connection with another error, and is in use, too)
  if (connected != ECONNREFUSED) {
    Refuse(path, "another process has this socket open; give another path");
  }
  unlink(path.c_str());
}

// Whether the process at the other end belongs to the user; false if that is not known.
bool IsOfUser(int client, uid_t user) {
  ucred peer = {};
  socklen_t bytes = sizeof peer;
  return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == user;
}

// Never waits: false if the client has not read its replies, or is gone.
bool Send(int client, const std::string& reply) {
  return send(client, reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(reply.size());
}

}  // namespace

ControlSocket::ControlSocket(WidthControl& control, std::string path, uid_t user)
    : control_(control), path_(std::move(path)), user_(user) {
  const sockaddr_un address = AddressOf(path_);
  RemoveStale(path_, address);
  listening_ = NewSocket(path_);
  const auto fail = [this](const char* what) {
    const std::string why = std::strerror(errno);
    close(listening_);
    Refuse(path_, fmt::format("{}: {}; give a path in a folder of yours", what, why));
  };
  // The file gets this mode from the socket, so it never has another one.
  if (fchmod(listening_, S_IRUSR | S_IWUSR) != 0) fail("the mode cannot be set");
  if (bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("no socket can be made there");
  }
  struct stat file = {};
  if (lstat(path_.c_str(), &file) == 0) {
    device_ = file.st_dev;
    inode_ = file.st_ino;
  }
  if (chmod(path_.c_str(), S_IRUSR | S_IWUSR) != 0 ||
      listen(listening_, static_cast<int>(kMaxControlClients)) != 0) {
    const int error = errno;
    RemoveFile();
    errno = error;
    fail("the socket cannot accept connections");
  }
}

ControlSocket::~ControlSocket() {
  RemoveFile();
  for (const int client : clients_) close(client);
  close(listening_);
}

void ControlSocket::RemoveFile() const {
  struct stat file = {};
  if (lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

void ControlSocket::AddTo(std::vector<pollfd>& waits) {
  // Beyond the rate, no descriptor wakes the thread before the next period.
  if (served_ >= kMostPackets && Clock::now() - window_ < kRatePeriod) return;
  if (Clock::now() >= accept_after_) waits.push_back({listening_, POLLIN, 0});
  for (const int client : clients_) waits.push_back({client, POLLIN, 0});
}

bool ControlSocket::WithinRate() {
  const Clock::time_point now = Clock::now();
  if (now - window_ >= kRatePeriod) {
    window_ = now;
    served_ = 0;
  }
  return served_++ < kMostPackets;
}

void ControlSocket::Serve() {
  Accept();
  // One packet of each client in turn, until none has one or the rate is reached.
  std::vector<int> waiting = clients_;
  while (!waiting.empty()) {
    std::vector<pollfd> ready;
    ready.reserve(waiting.size());
    for (const int client : waiting) ready.push_back({client, POLLIN, 0});
    if (poll(ready.data(), ready.size(), 0) <= 0) return;
    waiting.clear();
    for (const pollfd& client : ready) {
      if (client.revents == 0) continue;
      if (!WithinRate()) return;
      if (ServeClient(client.fd)) {
        waiting.push_back(client.fd);
      } else {
        close(client.fd);
        std::erase(clients_, client.fd);
      }
    }
  }
}

void ControlSocket::Accept() {
  for (;;) {
    const int client = accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) {
      // Without descriptors the connection stays pending, and poll would return at once.
      if (errno == EAGAIN || errno == EINTR) return;
      accept_after_ = Clock::now() + kRatePeriod;
      return;
    }
    const bool within_rate = WithinRate();
    if (!IsOfUser(client, user_)) {
      Send(client, ControlRefusal("the process belongs to another user"));
      close(client);
    } else if (clients_.size() >= kMaxControlClients) {
      Send(client,
           ControlRefusal(fmt::format("there are already {} connections", kMaxControlClients)));
      close(client);
    } else {
      clients_.push_back(client);
    }
    if (!within_rate) return;
  }
}

bool ControlSocket::ServeClient(int client) {
  // A longer packet is cut to the size of the buffer, which is one byte more than allowed.
  const ssize_t bytes = recv(client, packet_.data(), packet_.size(), MSG_DONTWAIT);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR;
  if (bytes == 0) return false;  // (an empty packet looks like the end)
  return Send(client, AnswerControl({packet_.data(), static_cast<std::size_t>(bytes)},
                                    static_cast<int>(getpid()), control_));
}

}  // namespace topdnn
