import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import type { Benchmark } from './report.ts'
import { buildWorker } from './server.ts'

/** The size of a deploy's upload. */
export const bundle: Benchmark = async () => {
  const script = await readFile(await buildWorker())
  const kibibytes = (bytes: number) => bytes / 1024
  return [
    {
      title: 'The deployed bundle',
      measurements: [
        {
          what: 'gzip',
          value: kibibytes(gzipSync(script).byteLength),
          unit: 'KiB',
          goal: { atMost: 250 },
          more: { 'uncompressed, KiB': kibibytes(script.byteLength) },
        },
      ],
    },
  ]
}
