import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const root = join(import.meta.dirname, '..')

/** The page. `HEDDLE_URL` is the daemon that `npm run dev:web` talks to. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  resolve: {
    // Its build for browsers decodes `&gt;` by innerHTML, which Trusted Types refuse: the table does without.
    alias: {
      'decode-named-character-reference': join(root, 'node_modules/decode-named-character-reference/index.js'),
    },
  },
  build: {
    outDir: join(root, 'dist/web'),
    emptyOutDir: true,
    target: 'es2023',
    // No data: addresses and no inline helper: the content policy allows neither.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: true,
    manifest: true,
    sourcemap: false,
    license: { fileName: 'LICENSES.md' },
  },
  server: {
    host: '127.0.0.1',
    proxy: { '/v1': { target: process.env['HEDDLE_URL'] ?? 'http://127.0.0.1:7433', changeOrigin: true } },
  },
})
