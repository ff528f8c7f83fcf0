import { defineConfig } from 'vite'

/**
 * Builds the modules that a deploy uploads. They're minified because every new isolate compiles the entry. Code that's
 * imported dynamically, such as the libraries that call models, is in other modules.
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
      // The platform treats each export of the entry as a handler, so the entry doesn't export what it shares with
      // other modules.
      preserveEntrySignatures: 'strict',
      output: { entryFileNames: 'index.mjs', chunkFileNames: '[name]-[hash].mjs' },
    },
  },
  ssr: {
    noExternal: true,
    resolve: { conditions: ['workerd', 'worker', 'browser', 'module', 'import', 'default'] },
  },
})
