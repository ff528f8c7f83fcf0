import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: 'src/ui',
  plugins: [react()],
  build: {
    outDir: '../../dist/ui',
    emptyOutDir: true,
    // A page is an entry of its own: only /docs loads Scalar, whose chunks are large.
    rolldownOptions: { input: ['src/ui/index.html', 'src/ui/docs.html'] },
    chunkSizeWarningLimit: 1000,
    // The notices that minifying strips.
    license: { fileName: 'licenses.md' },
  },
})
