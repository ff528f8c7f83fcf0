import { gzipSync } from 'node:zlib'
import type { WorkerModule } from '../scripts/serve.ts'
import type { Benchmark } from './report.ts'
import { buildWorker } from './server.ts'

/** The size of a deploy's upload, and of the code that a new isolate compiles. */
export const bundle: Benchmark = async () => {
  const modules = await buildWorker()
  const kibibytes = (parts: readonly Buffer[]) => parts.reduce((sum, { byteLength }) => sum + byteLength, 0) / 1024
  const compressed = (parts: readonly WorkerModule[]) => parts.map(({ contents }) => gzipSync(contents))
  return [
    {
      title: 'The deployed bundle',
      measurements: [
        {
          what: 'gzip',
          value: kibibytes(compressed(modules)),
          unit: 'KiB',
          goal: { atMost: 250 },
          more: {
            'the entry and its imports, KiB': kibibytes(compressed(loadedAtStart(modules))),
            'uncompressed, KiB': kibibytes(modules.map(({ contents }) => Buffer.from(contents))),
          },
        },
      ],
    },
  ]
}

/** The entry, which is the first module, and all modules that it imports statically. */
function loadedAtStart(modules: readonly WorkerModule[]): WorkerModule[] {
  const loaded = new Set(modules.slice(0, 1))
  for (const { contents } of loaded) {
    for (const [, path] of contents.matchAll(/\b(?:from|import)\s*["'`]\.\/([^"'`]+)/g)) {
      const imported = modules.find(module => module.path === path)
      if (imported) loaded.add(imported)
    }
  }
  return [...loaded]
}
