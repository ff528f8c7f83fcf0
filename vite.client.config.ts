import { defineConfig } from 'vite'

/** The client that the package exports, as one module. */
export default defineConfig({
  build: {
    outDir: 'dist/client',
    emptyOutDir: true,
    copyPublicDir: false,
    target: 'es2022',
    lib: { entry: 'src/client/index.ts', formats: ['es'], fileName: 'index' },
    sourcemap: true,
    // `build.minify` leaves a library its white space.
    rolldownOptions: { output: { minify: true } },
  },
})
