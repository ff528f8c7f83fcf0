import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** The bundled library's license requires that every copy include the license's text. */
const LICENSE_OF_DIFF = readFileSync(new URL('node_modules/diff/LICENSE', import.meta.url), 'utf8')

/** Builds the command-line tool as one program. The package in `src/client` installs it as `countersign`. */
export default defineConfig({
  root: fileURLToPath(new URL('src/client', import.meta.url)),
  build: {
    outDir: 'dist/cli',
    emptyOutDir: true,
    copyPublicDir: false,
    target: 'node20',
    // The program's size doesn't matter, but its stack traces do.
    minify: false,
    lib: { entry: 'cli/main.ts', formats: ['es'], fileName: 'main' },
    rolldownOptions: {
      external: /^node:/,
      output: { banner: `#!/usr/bin/env node\n/*! Contains the npm package diff:\n\n${LICENSE_OF_DIFF}*/` },
    },
  },
})
