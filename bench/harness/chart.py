"""A bar chart as SVG: jobs a second, logarithmic, readable on light and on dark pages."""

import math

from harness.report import measured, number

SHOWN = [
    ("both", "One by one, 50 producers and 50 workers"),
    ("enqueue", "Enqueue one by one, 50 connections"),
    ("enqueue_batch", "Enqueue in batches"),
]
WIDTH = 760
LEFT = 230
RIGHT = 80
BAR = 16
STEP = 24
TITLE = 44
LOWEST = 100

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; font-size: 15px; }
  .small { font-size: 11px; fill: #57606a; }
  .bar { fill: #8c959f; }
  .ours { fill: #0969da; }
  .loose { opacity: 0.45; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .small { fill: #9198a1; } .bar { fill: #656c76; } .ours { fill: #4493f8; }
    .grid { stroke: #3d444d; }
  }
"""


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def svg(result):
    rows = measured(result)
    highest = max((row["medians"].get(key) or 0 for row in rows for key, _ in SHOWN), default=0)
    top = 10 ** math.ceil(math.log10(max(highest, LOWEST * 10)))
    scale = (WIDTH - LEFT - RIGHT) / math.log10(top / LOWEST)
    body, y = [], 8
    for key, words in SHOWN:
        values = [(row, row["medians"][key]) for row in rows if row["medians"].get(key)]
        if not values:
            continue
        body.append(f'<text class="title" x="8" y="{y + 18}">{escape(words)}, jobs a second</text>')
        y += TITLE
        body += grid(y, len(values), top, scale)
        for row, value in values:
            body += bar(row, value, y, scale)
            y += STEP
        y += STEP
    if not all(row["synced"] for row in rows):
        body.append(f'<text class="small" x="8" y="{y}">Pale bars: a power cut may take what was already '
                    "confirmed.</text>")
        y += 16
    about = result["conditions"]
    body.append(f'<text class="small" x="8" y="{y}">{escape(about["machine"])}, {about["date"]}; medians of '
                f'{about["repeats"]}; logarithmic scale</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 12}" '
            f'viewBox="0 0 {WIDTH} {y + 12}" role="img" aria-label="Jobs a second by system">\n'
            f"<style>{STYLE}</style>\n" + "\n".join(body) + "\n</svg>\n")


def grid(y, count, top, scale):
    out, mark = [], LOWEST
    while mark <= top:
        x = LEFT + math.log10(mark / LOWEST) * scale
        out.append(f'<line class="grid" x1="{x:.1f}" y1="{y - 6}" x2="{x:.1f}" y2="{y + count * STEP - 4}"/>')
        out.append(f'<text class="small" x="{x:.1f}" y="{y - 9}" text-anchor="middle">{mark:,}</text>')
        mark *= 10
    return out


def bar(row, value, y, scale):
    width = max(1.0, math.log10(max(value, LOWEST) / LOWEST) * scale)
    kind = "bar ours" if row["name"].startswith("jobbie") else "bar"
    kind += "" if row["synced"] else " loose"
    return [f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(row["title"])}</text>',
            f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2">'
            f'<title>{escape(row["title"])}: {value:,.0f} jobs/s; {escape(row["durability"])}</title></rect>',
            f'<text x="{LEFT + width + 6:.1f}" y="{y + 13}">{number(value)}</text>']
