// ncursesw, kept to this file.
#include "tui/terminal.hpp"

#include <clocale>
#include <cstring>
#include <langinfo.h>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>

#include "tui/keys.hpp"

namespace jobbie::tui {
namespace {

constexpr int kGood = 1;
constexpr int kWarn = 2;
constexpr int kBad = 3;
/// After Escape, how long the rest of a key's sequence may take.
constexpr int kEscapeMs = 50;

attr_t attribute(Ink ink, bool color) {
  const auto pair = [&](int number) {
    return color ? static_cast<attr_t>(COLOR_PAIR(number)) : attr_t{0};
  };
  switch (ink) {
    case Ink::title:
      return A_BOLD;
    case Ink::head:
      return A_BOLD;
    case Ink::dim:
      return color ? A_DIM : A_NORMAL;
    case Ink::good:
      return pair(kGood);
    case Ink::warn:
      return pair(kWarn);
    case Ink::bad:
      return pair(kBad) | A_BOLD;
    case Ink::chosen:
      return A_REVERSE;
    case Ink::plain:
      break;
  }
  return A_NORMAL;
}

bool is_utf8_locale() { return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

}  // namespace

Charset choose_charset() {
  setlocale(LC_ALL, "");
  if (!is_utf8_locale()) setlocale(LC_CTYPE, "C.UTF-8");
  return is_utf8_locale() ? Charset::unicode : Charset::ascii;
}

std::unique_ptr<Terminal> Terminal::open(bool color) {
  const Charset charset = choose_charset();
  SCREEN* screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return nullptr;
  auto terminal = std::unique_ptr<Terminal>(new Terminal(color && has_colors(), charset));
  terminal->screen_ = screen;
  return terminal;
}

Terminal::Terminal(bool color, Charset charset) : color_(color), charset_(charset) {
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  set_escdelay(kEscapeMs);
  curs_set(0);
  if (!color_) return;
  start_color();
  use_default_colors();
  init_pair(kGood, COLOR_GREEN, -1);
  init_pair(kWarn, COLOR_YELLOW, -1);
  init_pair(kBad, COLOR_RED, -1);
}

Terminal::~Terminal() {
  endwin();
  delscreen(static_cast<SCREEN*>(screen_));
}

Size Terminal::size() const { return {.columns = getmaxx(stdscr), .rows = getmaxy(stdscr)}; }

void Terminal::draw(const std::vector<Line>& lines) {
  werase(stdscr);
  int row = 0;
  for (const Line& line : lines) {
    wmove(stdscr, row++, 0);
    for (const Span& span : line) {
      wattrset(stdscr, static_cast<int>(attribute(span.ink, color_)));
      waddnstr(stdscr, span.text.c_str(), -1);
    }
  }
  wattrset(stdscr, A_NORMAL);
  wrefresh(stdscr);
}

std::optional<int> Terminal::key(int wait_ms) {
  wtimeout(stdscr, wait_ms);
  const int got = wgetch(stdscr);
  switch (got) {
    case ERR:
    case KEY_RESIZE:
      return std::nullopt;
    case KEY_UP:
      return static_cast<int>(Key::up);
    case KEY_DOWN:
      return static_cast<int>(Key::down);
    case KEY_PPAGE:
      return static_cast<int>(Key::page_up);
    case KEY_NPAGE:
      return static_cast<int>(Key::page_down);
    case KEY_HOME:
      return static_cast<int>(Key::home);
    case KEY_END:
      return static_cast<int>(Key::end);
    case KEY_LEFT:
      return static_cast<int>(Key::left);
    case KEY_ENTER:
    case '\r':
    case '\n':
      return static_cast<int>(Key::enter);
    case 27:
      return static_cast<int>(Key::escape);
    case KEY_BACKSPACE:
    case 127:
    case 8:
      return static_cast<int>(Key::backspace);
    case '\t':
      return static_cast<int>(Key::tab);
    default:
      return got;
  }
}

}  // namespace jobbie::tui
