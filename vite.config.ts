import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: 'src/ui',
  plugins: [react()],
  // rjsf's index exports a registry for its own tests, which imports a validator that needs eval and isn't installed.
  resolve: {
    alias: {
      '@rjsf/validator-ajv8': fileURLToPath(new URL('src/ui/review/form/validator.ts', import.meta.url)),
    },
  },
  build: {
    outDir: '../../dist/ui',
    emptyOutDir: true,
    // Lists the files that each page loads, for the test of their size.
    manifest: true,
    // Each page has its own entry, so /docs doesn't load the app.
    rolldownOptions: { input: ['src/ui/index.html', 'src/ui/docs.html'] },
    chunkSizeWarningLimit: 1000,
    // The license notices that minifying removes.
    license: { fileName: 'licenses.md' },
  },
})
