import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: 'src/ui',
  plugins: [react()],
  // The registry for rjsf's own tests, which its index exports, imports a validator that needs eval and is not installed.
  resolve: {
    alias: {
      '@rjsf/validator-ajv8': fileURLToPath(new URL('src/ui/review/form/validator.ts', import.meta.url)),
    },
  },
  build: {
    outDir: '../../dist/ui',
    emptyOutDir: true,
    // What each page loads, for the test of how much that is.
    manifest: true,
    // A page is an entry of its own: /docs is read without the app.
    rolldownOptions: { input: ['src/ui/index.html', 'src/ui/docs.html'] },
    chunkSizeWarningLimit: 1000,
    // The notices that minifying strips.
    license: { fileName: 'licenses.md' },
  },
})
