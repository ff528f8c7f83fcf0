import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { appPages } from './scripts/vite/app-pages.ts'
import { mantineStyles } from './scripts/vite/mantine-styles.ts'

export default defineConfig({
  root: 'src/ui',
  plugins: [react(), mantineStyles(), appPages()],
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
    rolldownOptions: {
      // Each page has its own entry, so /docs doesn't load the app.
      input: ['src/ui/index.html', 'src/ui/docs.html'],
      output: {
        // Modules that nearly all pages load are one file. Otherwise each gets its own, which compresses badly.
        codeSplitting: {
          groups: [{ name: 'shared', test: /src\/ui\/(api|json|parts|session)\//, minShareCount: 12 }],
        },
      },
    },
    chunkSizeWarningLimit: 1000,
    // The license notices that minifying removes.
    license: { fileName: 'licenses.md' },
  },
})
