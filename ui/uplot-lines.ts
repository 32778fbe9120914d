// uPlot without what our charts never ask for. Bundlers cannot see that a chart is of lines only, so this
// turns the questions uPlot asks itself into their answers, and what is then unused is left out: a third
// of it. The version is pinned; another one that is laid out differently fails the build here.
import type { Plugin } from 'vite'

const CUTS: [what: RegExp, instead: string, times: number][] = [
  // Other ways to draw, and helpers for plugins.
  [/\(paths\.(stepped|bars|spline)\s*=\s*\w+\);/g, '', 3],
  [/uPlot\.(assign|fmtNum|rangeNum|rangeLog|rangeAsinh|orient|join|fmtDate|sync|addGap|clipGaps)\s*=\s*\w+;/g, '', 11],
  [/^\tself\.(addSeries|delSeries|batch|setScale|setSelect|setSeries|addBand|setBand|delBand|posToIdx|posToVal|setLegend) = \w+;/gm, '', 12],
  // Scales are linear, each line has the same times, in seconds; there are no bands between lines.
  [/\bmode == 1\b/g, 'true', 16],
  [/\bmode == 2\b/g, 'false', 16],
  [/\b(\w+\.)?distr (== (3|4|100)|>= 3)(?!\d)/g, 'false', 23],
  [/xScaleDistr == [34]/g, 'false', 2],
  [/scaleX\.ori == 0\b/g, 'true', 24],
  [/scaleX\.ori == 1\b/g, 'false', 9],
  [/flags != 0 && bands\.forEach/g, 'false && bands.forEach', 1],
  [/let \[ bandFillDir, bandClipDir \] = bandFillClipDirs\(u, seriesIdx\);/g, 'const bandFillDir = 0, bandClipDir = 0;', 3],
  // Lines go on over gaps, and have far fewer points than there are pixels.
  [/!series\.spanGaps/g, 'false', 3],
  [/const decimate = .*/g, 'const decimate = false;', 1],
  // The legend and the labels of times are ours.
  [/const showLegend = legend.show;/g, 'const showLegend = false;', 1],
  [/const (_fmtDate |_timeAxisVals  |_timeSeriesVal ) ?= .*/g, '', 3],
  [/s\.value = isTime \? .*/g, 's.value = sv || numSeriesVal;', 1],
  [/isTime \? \(\s*\/\/ config array[^]*?av \|\| _timeAxisVals\s*\) : av/g, 'av', 1],
  // Nothing is dragged, no chart follows another.
  [/events\.(mousedown|mouseup|dblclick) = \w+;/g, '', 3],
  [/onMouse\((mousedown|dblclick),\s+\w+, \w+\);/g, '', 2],
  [/(select\.show && |(?<=if \())_?dragging\b/g, 'false', 4],
  [/\be != null\b/g, 'true', 8],
]

export function lines(): Plugin {
  return {
    name: 'uplot-lines',
    transform(code, id) {
      if (!id.includes('uPlot.esm')) return
      for (const [what, instead, times] of CUTS) {
        const found = code.match(what)?.length ?? 0
        if (found !== times) this.error(`uPlot is laid out in another way now: ${what} is there ${found} times`)
        code = code.replace(what, instead)
      }
      return code
    },
  }
}
