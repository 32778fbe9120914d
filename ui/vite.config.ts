import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, type Plugin } from 'vite'

// `JOBBIE_URL=http://127.0.0.1:8080 npm run dev` works on the screens against a running server or mock.
const server = process.env.JOBBIE_URL ?? 'http://127.0.0.1:21300'

const LATER = /src\/(screens\/(?!Overview)|lib\/(cron|filter)|parts\/(Json|Logs|Menu|Dialog|Confirm|.*Dialog|Search|JobList|QueueInput|QueueSettings|Batch|Bulk|StateMark|Palette|Help|Login))/

// Our charts are lines: without being named, the other ways to draw are left out of the bundle.
function lines(): Plugin {
  const unused = /\(paths\.(stepped|bars|spline)\s*=\s*\w+\);/g
  return {
    name: 'uplot-lines',
    transform(code, id) {
      if (!id.includes('uPlot.esm')) return
      if (code.match(unused)?.length !== 3) this.error('uPlot is laid out in another way now')
      return code.replace(unused, '')
    },
  }
}

export default defineConfig({
  base: '/ui/',
  plugins: [lines(), svelte()],
  build: {
    target: 'es2022',
    minify: 'terser',
    terserOptions: { module: true, ecma: 2020, compress: { passes: 2 }, format: { comments: false } },
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Nothing is put into the page as data: the policy allows no inline script.
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        // Three parts: what the first screen needs, the charts, and all other screens. Many small files
        // would weigh a third more, since each is compressed by itself.
        manualChunks(id) {
          if (id.includes('uplot') || id.endsWith('parts/plot.ts')) return 'plot'
          if (LATER.test(id)) return 'more'
          if (id.includes('svelte')) return 'core'
        },
      },
    },
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': server, '/healthz': server } },
})
