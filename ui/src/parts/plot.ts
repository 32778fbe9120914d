// uPlot in our colours. Loaded with the first chart.
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

export class Plot {
  #plot: uPlot | null = null
  #watch: ResizeObserver
  #zone = ''
  #data: uPlot.AlignedData | null = null

  constructor(
    readonly host: HTMLElement,
    readonly point: (index: number | null) => void,
    readonly show: (value: number | null) => string,
    readonly palette: string,
  ) {
    this.#watch = new ResizeObserver(() => this.#plot?.setSize(this.#size()))
    this.#watch.observe(host)
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', () => this.recolour())
  }
  #size() {
    return { width: Math.max(120, this.host.clientWidth), height: this.host.clientHeight }
  }
  set(since: number, stepMs: number, lines: (number | null)[][], zone: string) {
    const length = lines[0]?.length ?? 0
    const times = Array.from({ length }, (_, i) => (since + i * stepMs) / 1000)
    this.#data = [times, ...lines] as uPlot.AlignedData
    if (this.#plot && zone === this.#zone) this.#plot.setData(this.#data)
    else this.#make(zone, lines.length)
  }
  recolour() {
    // After the attribute that the colours follow has changed.
    requestAnimationFrame(() => this.#data && this.#make(this.#zone, this.#data.length - 1))
  }
  #make(zone: string, lines: number) {
    this.#plot?.destroy()
    this.#zone = zone
    const axis: uPlot.Axis = {
      stroke: colour('--faint'),
      font: `11px ${colour('--sans')}`,
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    }
    const options: uPlot.Options = {
      ...this.#size(),
      padding: [8, 16, 0, 0],
      legend: { show: false },
      tzDate: (stamp) => (zone === 'local' ? new Date(stamp * 1000) : uPlot.tzDate(new Date(stamp * 1000), zone)),
      fmtDate: undefined,
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      axes: [
        { ...axis, grid: { show: false }, size: 26, space: 80, values: (self, splits) => splits.map((s) => this.#clock(self, s, splits)) },
        { ...axis, size: 56, values: (_, splits) => splits.map((s) => this.show(s)) },
      ],
      scales: { y: { range: (_, __, max) => [0, Math.max(this.palette === 'q' ? 10 : 1, (max ?? 0) * 1.08)] } },
      series: [
        {},
        ...Array.from({ length: lines }, (_, i) => ({
          stroke: colour(`--${this.palette}${i}`),
          width: 1.5,
          spanGaps: true,
          // One value alone makes no line.
          points: { show: (self: uPlot, series: number) => Array.from<unknown>(self.data[series]).filter((v) => v != null).length === 1 },
        })),
      ],
      hooks: { setCursor: [(self) => this.point(self.cursor.idx ?? null)] },
    }
    this.#plot = new uPlot(options, this.#data!, this.host)
  }
  #clock(_self: uPlot, stamp: number, splits: number[]): string {
    const far = splits[splits.length - 1] - splits[0] > 2 * 86400
    return new Intl.DateTimeFormat('sv-SE', {
      timeZone: this.#zone === 'local' ? undefined : this.#zone,
      ...(far ? { month: '2-digit', day: '2-digit' } : { hour: '2-digit', minute: '2-digit' }),
      ...(splits.length > 1 && splits[1] - splits[0] < 60 ? { second: '2-digit' } : {}),
    }).format(new Date(stamp * 1000))
  }
  end() {
    this.#watch.disconnect()
    this.#plot?.destroy()
  }
}
