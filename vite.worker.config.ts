import { defineConfig } from 'vite'

/**
 * Builds the modules that a deploy uploads, minified: every new isolate compiles the entry. Code that's imported
 * dynamically, such as the libraries that call models, is in other modules.
 */
export default defineConfig({
  publicDir: false,
  build: {
    ssr: 'src/index.ts',
    outDir: 'dist/worker',
    target: 'es2024',
    minify: true,
    sourcemap: true,
    rolldownOptions: {
      external: [/^cloudflare:/, /^node:/],
      // The platform takes each export of the entry for a handler, so what other modules share isn't exported there.
      preserveEntrySignatures: 'strict',
      output: { entryFileNames: 'index.mjs', chunkFileNames: '[name]-[hash].mjs' },
    },
  },
  ssr: {
    noExternal: true,
    resolve: { conditions: ['workerd', 'worker', 'browser', 'module', 'import', 'default'] },
  },
})
