import { gzipSync } from 'node:zlib'
import type { Benchmark } from './report.ts'
import { buildWorker } from './server.ts'

/** The size of a deploy's upload. */
export const bundle: Benchmark = async () => {
  const modules = (await buildWorker()).map(({ contents }) => Buffer.from(contents))
  const kibibytes = (parts: readonly Buffer[]) => parts.reduce((sum, { byteLength }) => sum + byteLength, 0) / 1024
  const compressed = modules.map(module => gzipSync(module))
  return [
    {
      title: 'The deployed bundle',
      measurements: [
        {
          what: 'gzip',
          value: kibibytes(compressed),
          unit: 'KiB',
          goal: { atMost: 250 },
          more: {
            'the entry, KiB': kibibytes(compressed.slice(0, 1)),
            'uncompressed, KiB': kibibytes(modules),
          },
        },
      ],
    },
  ]
}
