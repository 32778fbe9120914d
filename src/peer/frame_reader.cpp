// A buffer with a begin and an end; what is left of it moves to the front before the next read.
#include "peer/frame_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "peer/failure.hpp"

namespace jobbie::peer {
std::span<char> FrameReader::space() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // A buffer that one long frame has blown up is given back.
  if (end_ == 0 && buffer_.capacity() > kGrowBytes) buffer_ = {};
  const std::size_t usual = std::min(kReadBytes, longest_ + kHeadBytes + kTagBytes);
  const std::size_t wanted = std::clamp(missing_, usual, std::max(usual, kGrowBytes));
  if (buffer_.size() < end_ + wanted) buffer_.resize(end_ + wanted);
  return {buffer_.data() + end_, buffer_.size() - end_};
}

std::optional<std::string> FrameReader::take(std::size_t bytes) {
  if (end_ - begin_ < bytes) return std::nullopt;
  std::string out(buffer_, begin_, bytes);
  begin_ += bytes;
  return out;
}

base::Result<std::optional<Frame>> FrameReader::next(Seal& seal) {
  missing_ = 0;
  const std::string_view all = held();
  if (all.size() < kHeadBytes) return std::nullopt;
  base::ByteReader head(all.substr(0, kHeadBytes));
  const std::size_t body = head.u32();
  const std::uint8_t kind = head.u8();
  if (body < seal.tag_bytes()) return failure("malformed", "a frame that is too short for its tag");
  if (body - seal.tag_bytes() > longest_)
    return failure("frame_too_long", "a frame that is longer than allowed");
  if (all.size() < kHeadBytes + body) {
    missing_ = kHeadBytes + body - all.size();
    return std::nullopt;
  }
  Frame frame{.kind = kind};
  if (!seal.open(all.substr(0, kHeadBytes), all.substr(kHeadBytes, body), frame.payload))
    return failure("bad_seal", "a frame was changed, repeated or lost on the way");
  begin_ += kHeadBytes + body;
  return frame;
}

}  // namespace jobbie::peer
