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
    // The manifest lists the files that each page loads, for the test that checks their sizes.
    manifest: true,
    rolldownOptions: {
      // Each page has its own entry, so /docs doesn't load the app.
      input: ['src/ui/index.html', 'src/ui/docs.html'],
      output: {
        // Modules that nearly all pages load go into one file. Otherwise, each would get its own file, and small files
        // compress badly.
        codeSplitting: {
          groups: [{ name: 'shared', test: /src\/ui\/(api|json|parts|session)\//, minShareCount: 12 }],
        },
      },
    },
    chunkSizeWarningLimit: 1000,
    // This file has the license notices that minifying removes.
    license: { fileName: 'licenses.md' },
  },
})
