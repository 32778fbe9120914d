// Little-endian byte writing and reading for our own formats.
//
// The writer appends to a string. The reader never trusts what it reads: every length is compared
// with what is left before anything is allocated, and after the first fault it stays failed and
// gives zeros, so a decoder may read on and ask `ok()` once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/blob.hpp"
#include "base/time.hpp"

namespace jobbie::base {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void boolean(bool v) { u8(v ? 1 : 0); }
  void u32(std::uint32_t v) { fixed(v); }
  void u64(std::uint64_t v) { fixed(v); }
  /// LEB128: small numbers take one byte.
  void var(std::uint64_t v) {
    if (v < 0x80)
      u8(static_cast<std::uint8_t>(v));
    else
      long_var(v);
  }
  /// Zigzag LEB128, for numbers that may be negative.
  void svar(std::int64_t v) {
    var((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void bytes(std::string_view v) {
    var(v.size());
    out_.append(v);
  }
  void blob(const Blob& v) { bytes(v.view()); }
  void instant(Instant v) { svar(v.ms); }
  void duration(Duration v) { svar(v.ms); }

 private:
  static constexpr std::size_t kLongestVar = 10;  ///< 64 bits, seven in each byte

  void long_var(std::uint64_t v);

  /// Numbers are put together aside and appended once: each append looks at the string's capacity.
  template <typename T>
  void fixed(T v) {
    static_assert(std::is_unsigned_v<T>);
    std::array<char, sizeof(T)> buffer;
    for (std::size_t i = 0; i < sizeof(T); ++i) buffer[i] = static_cast<char>(v >> (8 * i));
    out_.append(buffer.data(), buffer.size());
  }
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  std::uint8_t u8();
  bool boolean();  ///< fails on anything but 0 and 1
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  std::uint64_t var();
  std::int64_t svar();
  /// A var that must not exceed `max`.
  std::uint64_t var_at_most(std::uint64_t max);
  std::string_view bytes();
  Blob blob() { return Blob(bytes()); }
  std::string text() { return std::string(bytes()); }
  Instant instant() { return {svar()}; }
  Duration duration() { return {svar()}; }
  /// An element count: fails unless at least `min_bytes_each` bytes are left for every element.
  std::size_t count(std::size_t min_bytes_each = 1);

  void fail() {
    ok_ = false;
    in_ = {};
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }
  [[nodiscard]] std::size_t left() const { return in_.size(); }

 private:
  template <typename T>
  T fixed() {
    if (in_.size() < sizeof(T)) {
      fail();
      return 0;
    }
    T v = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      v |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(in_[i])) << (8 * i));
    in_.remove_prefix(sizeof(T));
    return v;
  }
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace jobbie::base
