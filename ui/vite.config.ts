import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// `JOBBIE_URL=http://127.0.0.1:8080 npm run dev` works on the screens against a running server or mock.
const server = process.env.JOBBIE_URL ?? 'http://127.0.0.1:21300'

const LATER = /src\/(screens\/(?!Overview)|lib\/(cron|filter|kinds|scopes)|parts\/(Json|Logs|Menu|Choices|Confirm|\w*Dialog|Search|JobList|Pager|QueueInput|QueueSettings|Batch|Bulk|StateMark|Overlays|Palette|Help|Login))/

export default defineConfig({
  base: '/ui/',
  plugins: [svelte()],
  build: {
    target: 'es2022',
    minify: 'terser',
    terserOptions: { module: true, ecma: 2020, compress: { passes: 2 }, format: { comments: false } },
    cssCodeSplit: false,
    // There is next to nothing to preload: the first part is one file.
    modulePreload: false,
    reportCompressedSize: false,
    // Nothing is put into the page as data: the policy allows no inline script.
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        // Two parts: what the first screen needs, and all other screens. Many small files would
        // weigh a third more, since each is compressed by itself.
        manualChunks(id) {
          return LATER.test(id) ? 'more' : 'core'
        },
      },
    },
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': server, '/healthz': server } },
})
