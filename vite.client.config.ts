import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** Builds the client as one module, which the package in `src/client` exports. Paths are relative to that folder. */
export default defineConfig({
  root: fileURLToPath(new URL('src/client', import.meta.url)),
  build: {
    outDir: 'dist/client',
    emptyOutDir: true,
    copyPublicDir: false,
    target: 'es2022',
    lib: { entry: 'index.ts', formats: ['es'], fileName: 'index' },
    sourcemap: true,
    // `build.minify` doesn't remove a library's whitespace.
    rolldownOptions: { output: { minify: true } },
  },
})
