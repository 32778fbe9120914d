// The parser against a table of good and bad requests, each fed whole, byte by byte and in random
// pieces.
#include "http/parser.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/transcript.hpp"

namespace jobbie::http {
namespace {

Limits small_limits() {
  Limits limits;
  limits.header_bytes = 2048;
  limits.target_bytes = 512;
  limits.body_bytes = 64;
  return limits;
}

/// The transcript of the whole input, after checking that no way of cutting it changes anything.
std::string parsed(const std::string& input, const Limits& limits = small_limits()) {
  const std::string whole = transcript(input, limits, [](std::size_t left) { return left; });
  const std::string bytes = transcript(input, limits, [](std::size_t) { return std::size_t{1}; });
  EXPECT_EQ(whole, bytes) << input;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const std::string pieces =
        transcript(input, limits, [&](std::size_t) { return 1 + random() % 40; });
    EXPECT_EQ(whole, pieces) << "seed " << seed << "\n" << input;
  }
  return whole;
}

TEST(Parser, TakesAPlainRequest) {
  EXPECT_EQ(parsed("GET /a/b?x=1&y HTTP/1.1\r\nHost: h:80\r\nAccept:  text/x \t\r\n\r\n"),
            "GET /a/b?x=1&y path=/a/b query=x=1&y keep [host=h:80] [accept=text/x] body=\nend\n");
}

TEST(Parser, TakesABodyByLength) {
  EXPECT_EQ(parsed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"),
            "POST / path=/ query= keep [host=h] [content-length=5] body=hello\nend\n");
  EXPECT_EQ(
      parsed("POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: Identity\r\nContent-Length: 2\r\n"
             "\r\nok"),
      "POST / path=/ query= keep [host=h] [content-encoding=Identity] [content-length=2] body=ok\n"
      "end\n");
  EXPECT_EQ(parsed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhell"), "in body\n");
}

TEST(Parser, JoinsChunks) {
  const std::string head = "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n";
  const std::string said = "POST /c path=/c query= keep [host=h] [transfer-encoding=Chunked] ";
  EXPECT_EQ(parsed(head + "5\r\nhello\r\n1;a=b\r\n,\r\n00a \r\n0123456789\r\n0\r\n\r\n"),
            said + "body=hello,0123456789\nend\n");
  EXPECT_EQ(parsed(head + "0\r\n\r\n"), said + "body=\nend\n");
  EXPECT_EQ(parsed(head + "1\r\nx\r\n0\r\nX-Sum: 12\r\nMore: y\r\n\r\n"), said + "body=x\nend\n");
  EXPECT_EQ(parsed(head + "1\r\nx\r\n0\r\n"), "in body\n");
}

TEST(Parser, TakesOneRequestAfterTheOther) {
  const std::string one = "PUT /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  const std::string two =
      "POST /2 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
  const std::string three = "\r\n\r\nDELETE /3 HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(parsed(one + two + three + "GET /4"),
            "PUT /1 path=/1 query= keep [host=h] [content-length=3] body=abc\n"
            "POST /2 path=/2 query= keep [host=h] [transfer-encoding=chunked] body=x\n"
            "DELETE /3 path=/3 query= keep [host=h] body=\n"
            "in head\n");
}

TEST(Parser, KnowsWhenTheConnectionStays) {
  const auto ending = [](const std::string& version, const std::string& headers) {
    const std::string said = parsed("GET / " + version + "\r\nHost: h\r\n" + headers + "\r\n");
    return said.substr(said.find("query= ") + 7, 5);
  };
  EXPECT_EQ(ending("HTTP/1.1", ""), "keep ");
  EXPECT_EQ(ending("HTTP/1.1", "Connection: close\r\n"), "close");
  EXPECT_EQ(ending("HTTP/1.1", "Connection: x, CLOSE ,y\r\n"), "close");
  EXPECT_EQ(ending("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n"), "close");
  EXPECT_EQ(ending("HTTP/1.0", ""), "close");
  EXPECT_EQ(ending("HTTP/1.0", "Connection: Keep-Alive\r\n"), "keep ");
}

TEST(Parser, TakesEveryFormOfTarget) {
  EXPECT_EQ(parsed("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"),
            "OPTIONS * path=* query= keep [host=h] body=\nend\n");
  EXPECT_EQ(parsed("GET http://h:1/p?q HTTP/1.1\r\nHost: h\r\n\r\n"),
            "GET http://h:1/p?q path=/p query=q keep [host=h] body=\nend\n");
  EXPECT_EQ(parsed("GET HTTP://h HTTP/1.1\r\nHost: h\r\n\r\n"),
            "GET HTTP://h path=/ query= keep [host=h] body=\nend\n");
  EXPECT_EQ(parsed("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n"),
            "GET http://h?q path=/ query=q keep [host=h] body=\nend\n");
  EXPECT_EQ(parsed("BREW /%7e//..?? HTTP/1.1\r\nHost:\r\n\r\n"),
            "BREW /%7e//..?? path=/%7e//.. query=? keep [host=] body=\nend\n");
}

struct Bad {
  std::string input;
  std::string said;
};

TEST(Parser, RefusesWhatIsNotARequest) {
  const std::vector<Bad> table = {
      {"\x16\x03\x01\x02", "400 bad_request_line"},
      {"\nGET / HTTP/1.1\r\n", "400 bad_request_line"},
      {"\r\n\r\n\r\n\r\n\r\n", "400 bad_request_line"},
      {"GET\r\n", "400 bad_request_line"},
      {"GET /\r\n", "400 bad_request_line"},
      {"GET  HTTP/1.1\r\n", "400 bad_target"},
      {"G{T / HTTP/1.1\r\n", "400 bad_method"},
      {std::string(33, 'A') + " / HTTP/1.1\r\n", "400 bad_method"},
      {"GET / HTTP/1.1\n", "400 bad_line_end"},
      {"GET / HTTP/1.1\r\nHost: h\n\n", "400 bad_line_end"},
      {"GET / http/1.1\r\n", "400 bad_request_line"},
      {"GET / HTTP/1.1 \r\n", "400 bad_request_line"},
      {"GET / HTTP/11\r\n", "400 bad_request_line"},
      {"GET / HTTP/2.0\r\n", "505 version_not_supported"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 version_not_supported"},
      {"GET a HTTP/1.1\r\n", "400 bad_target"},
      {"GET * HTTP/1.1\r\n", "400 bad_target"},
      {"CONNECT h:80 HTTP/1.1\r\n", "400 bad_target"},
      {"GET /a b HTTP/1.1\r\n", "400 bad_target"},
      {"GET /a#b HTTP/1.1\r\n", "400 bad_target"},
      {"GET /\xC3\xA4 HTTP/1.1\r\n", "400 bad_target"},
      {std::string("GET /\0 HTTP/1.1\r\n", 17), "400 bad_target"},
      {"GET /\r HTTP/1.1\r\n", "400 bad_target"},
      {"GET http:// HTTP/1.1\r\n", "400 bad_target"},
      {"GET http:///a HTTP/1.1\r\n", "400 bad_target"},
      {"GET http://u@h/a HTTP/1.1\r\n", "400 bad_target"},
      {"GET /" + std::string(512, 'a') + " HTTP/1.1\r\n", "414 uri_too_long"},
      {"GET /" + std::string(4096, 'a'), "414 uri_too_long"},
  };
  for (const Bad& bad : table) EXPECT_EQ(parsed(bad.input), bad.said + "\n") << bad.input;
}

TEST(Parser, RefusesBadHeaders) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\n";
  const std::vector<Bad> table = {
      {" folded: x\r\n", "400 folded_header"},
      {"A: b\r\n\tc\r\n", "400 folded_header"},
      {"A : b\r\n", "400 bad_header"},
      {": b\r\n", "400 bad_header"},
      {"A\r\n", "400 bad_header"},
      {"A(b): c\r\n", "400 bad_header"},
      {"\xC3\xA4: c\r\n", "400 bad_header"},
      {std::string("A: b\0c\r\n", 8), "400 bad_header"},
      {"A: b\rc\r\n", "400 bad_header"},
      {"A: 12345678\x7F\r\n", "400 bad_header"},
      {"A: 1234567890\x01"
       "abcdefghij\r\n",
       "400 bad_header"},
      {"A: b\nC: d\r\n", "400 bad_line_end"},
      {"Host: h\r\n", "400 bad_host"},
      {"Expect: miracles\r\n", "417 expectation_failed"},
      {"Content-Length: x\r\n", "400 bad_length"},
      {"Content-Length: -1\r\n", "400 bad_length"},
      {"Content-Length: +1\r\n", "400 bad_length"},
      {"Content-Length: 1, 1\r\n", "400 bad_length"},
      {"Content-Length:\r\n", "400 bad_length"},
      {"Content-Length: 1\r\nContent-Length: 2\r\n", "400 bad_length"},
      {"Content-Length: 1\r\nContent-Length: 1\r\n", "400 bad_length"},
      {"Content-Encoding: gzip\r\n", "415 content_encoding_not_supported"},
      {"Content-Encoding: identity, gzip\r\n", "415 content_encoding_not_supported"},
      {"Content-Encoding:\r\n", "415 content_encoding_not_supported"},
      {"Content-Length: 65\r\n\r\n", "413 body_too_large"},
      {"Content-Length: 99999999999999999999999\r\n\r\n", "413 body_too_large"},
      {"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "400 length_and_chunks"},
      {"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 length_and_chunks"},
      {"Transfer-Encoding: gzip, chunked\r\n", "501 transfer_encoding_not_supported"},
      {"Transfer-Encoding: \x0b"
       "chunked\r\n",
       "400 bad_header"},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "400 bad_transfer_encoding"},
      {"X: " + std::string(2048, 'a') + "\r\n", "431 headers_too_large"},
      {"X: " + std::string(4096, 'a'), "431 headers_too_large"},
  };
  for (const Bad& bad : table) EXPECT_EQ(parsed(start + bad.input), bad.said + "\n") << bad.input;

  EXPECT_EQ(parsed("GET / HTTP/1.1\r\n\r\n"), "400 bad_host\n");
  EXPECT_EQ(parsed("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), "400 bad_host\n");
  EXPECT_EQ(parsed("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "400 bad_transfer_encoding\n");
  std::string many = start;
  for (std::size_t i = 0; i < kMaxHeaders; ++i) many += "A: b\r\n";
  EXPECT_EQ(parsed(many + "\r\n"), "431 too_many_headers\n");
}

TEST(Parser, RefusesBadChunks) {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::vector<Bad> table = {
      {"x\r\n", "400 bad_chunk"},
      {"\r\n", "400 bad_chunk"},
      {"0x1\r\n", "400 bad_chunk"},
      {"-1\r\n", "400 bad_chunk"},
      {" 1\r\n", "400 bad_chunk"},
      {"1 2\r\n", "400 bad_chunk"},
      {"1000000000000000\r\n", "400 bad_chunk"},
      {"1;" + std::string(300, 'a') + "\r\n", "400 bad_chunk"},
      {"1;a\x01\r\n", "400 bad_chunk"},
      {"1\nx", "400 bad_line_end"},
      {"1\r\nxy\r\n", "400 bad_chunk"},
      {"1\r\nx\n0\r\n", "400 bad_chunk"},
      {"41\r\n", "413 body_too_large"},
      {"40\r\n" + std::string(64, 'x') + "\r\n1\r\n", "413 body_too_large"},
      {"0\r\nA : b\r\n", "400 bad_header"},
      {"0\r\nA: " + std::string(kMaxTrailerBytes, 'b'), "431 headers_too_large"},
  };
  for (const Bad& bad : table) EXPECT_EQ(parsed(head + bad.input), bad.said + "\n") << bad.input;
}

TEST(Parser, SaysWhatItKnowsAfterTheHead) {
  std::string data =
      "POST /up HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 100\r\n\r\n";
  Parser parser(small_limits());
  ASSERT_EQ(parser.feed(data), Parser::Step::head);
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_EQ(parser.announced_bytes(), data.size() + 100);
  HeaderViews headers;
  Request request;
  parser.view(data, headers, request);
  EXPECT_EQ(request.path, "/up");
  EXPECT_EQ(request.header("host"), "h");
  parser.set_body_limit(100);
  EXPECT_EQ(parser.feed(data), Parser::Step::more);
  data.append(100, 'x');
  EXPECT_EQ(parser.feed(data), Parser::Step::complete);
}

/// Random edits of real requests: whatever comes of them does not depend on how they are cut.
TEST(Parser, AgreesWithItselfOnMutatedRequests) {
  const std::vector<std::string> bases = {
      "GET /a?b HTTP/1.1\r\nHost: h\r\nX-Y: z\r\n\r\n",
      "POST /j HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n{\"a\":1}GET / HTTP/1.0\r\n\r\n",
      "POST /j HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: "
      "u\r\n\r\n"};
  const std::string alphabet = "\r\n\t :;,/?*0159afAFxX%\x80";
  for (unsigned seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    std::string input = bases[seed % bases.size()];
    for (std::size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % input.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          input[at] = c;
          break;
        case 1:
          input.insert(at, 1, c);
          break;
        default:
          input.erase(at, 1 + random() % 4);
          break;
      }
      if (input.empty()) input = "\r";
    }
    const std::string whole =
        transcript(input, small_limits(), [](std::size_t left) { return left; });
    EXPECT_EQ(whole, transcript(input, small_limits(), [](std::size_t) { return std::size_t{1}; }))
        << "seed " << seed;
    EXPECT_EQ(whole,
              transcript(input, small_limits(), [&](std::size_t) { return 1 + random() % 20; }))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace jobbie::http
