import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** The client that the package in `src/client` exports, as one module. Paths are from that folder. */
export default defineConfig({
  root: fileURLToPath(new URL('src/client', import.meta.url)),
  build: {
    outDir: 'dist/client',
    emptyOutDir: true,
    copyPublicDir: false,
    target: 'es2022',
    lib: { entry: 'index.ts', formats: ['es'], fileName: 'index' },
    sourcemap: true,
    // `build.minify` leaves a library its white space.
    rolldownOptions: { output: { minify: true } },
  },
})
