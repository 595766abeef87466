#include "bench/studies/malleable/control_client.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "bench/command_line/command.h"
#include "harness/text/one_line.h"
#include "harness/width/control_messages.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

// A whole number of 0 or more that the type can have; absent otherwise.
template <class Number>
std::optional<Number> NumberAt(const Json& json, const char* key) {
  const auto value = json.find(key);
  const bool valid = value != json.end() && value->is_number_unsigned() &&
                     std::in_range<Number>(value->get<std::uint64_t>());
  return valid ? std::optional(value->get<Number>()) : std::nullopt;
}

}  // namespace

std::optional<ControlReply> ParseControlReply(std::string_view packet) {
  if (packet.size() > kMaxControlPacket) return std::nullopt;
  const Json json = Json::parse(packet, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto ok = json.find("ok");
  if (ok == json.end() || !ok->is_boolean()) return std::nullopt;
  if (!ok->get<bool>()) {
    const auto error = json.find("error");
    const bool said = error != json.end() && error->is_string();
    return ControlReply{.error = OneLine(said ? error->get<std::string>() : "no reason given")};
  }
  const auto width = NumberAt<int>(json, "width");
  const auto wanted = NumberAt<int>(json, "wanted");
  const auto iterations = NumberAt<std::int64_t>(json, "iterations");
  if (!width || !wanted || !iterations) return std::nullopt;
  return ControlReply{.width = *width, .wanted = *wanted, .iterations = *iterations, .error = {}};
}

bool ControlClient::Connect() {
  if (connected()) return true;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) {
    throw UsageError(
        fmt::format("{}: is too long for a socket: set TMPDIR to a shorter path", OneLine(path_)));
  }
  std::memcpy(address.sun_path, path_.data(), path_.size());
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return false;
  }
  fd_ = fd;
  return true;
}

void ControlClient::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

bool ControlClient::SetWidth(int width) {
  return Send(fmt::format(R"({{"request":"set_width","width":{}}})", width));
}

bool ControlClient::AskStatus() { return Send(R"({"request":"status"})"); }

bool ControlClient::Stop() { return Send(R"({"request":"stop"})"); }

bool ControlClient::Send(std::string_view packet) const {
  if (fd_ < 0) return false;
  return send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(packet.size());
}

std::optional<std::string> ControlClient::Receive() {
  if (fd_ < 0) return std::nullopt;
  std::string packet(kMaxControlPacket + 1,
                     '\0');  // a longer packet is truncated, and then refused
  const ssize_t got = recv(fd_, packet.data(), packet.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  packet.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return packet;
}

}  // namespace topdnn
