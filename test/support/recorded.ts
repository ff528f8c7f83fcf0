/// <reference types="vite/types/importMeta.d.ts" />

/** A request that a real client made: its body as it was on the wire, and what came with it. */
export interface Recorded {
  /** Which client and which encoding; `quirks` are made by hand, after the specification. */
  directory: string
  file: string
  signal: 'traces' | 'logs' | 'metrics'
  headers: Record<string, string>
  path: string
  bytes: Uint8Array
}

/** As data URLs: a test in workerd has no files. */
const files = import.meta.glob<string>('../otlp/recorded/**', { query: '?url&inline', import: 'default', eager: true })

/** All recorded requests, in the order of their names. */
export const recorded = (): Recorded[] =>
  Object.keys(files)
    .filter(file => !file.endsWith('.headers.json'))
    .sort()
    .map(read)

/** What was compressed on the wire, decompressed. */
export async function unpacked({ headers, bytes }: Recorded): Promise<Uint8Array> {
  if (headers['content-encoding'] !== 'gzip') return bytes
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

function read(name: string): Recorded {
  const [directory = '', file = ''] = name.split('/').slice(-2)
  const about = bytesOf(name.replace(/\.(?:pb|json)(?:\.gz)?$/, '.headers.json'))
  const { path, headers } = about
    ? JSON.parse(new TextDecoder().decode(about))
    : { path: '/v1/traces', headers: { 'content-type': 'application/json' } }
  return { directory, file, signal: signalOf(file), headers, path, bytes: bytesOf(name) ?? new Uint8Array() }
}

const signalOf = (file: string): Recorded['signal'] =>
  file.includes('-logs') ? 'logs' : file.includes('-metrics') ? 'metrics' : 'traces'

function bytesOf(name: string): Uint8Array | undefined {
  const base64 = files[name]?.split(',')[1]
  return base64 === undefined ? undefined : Uint8Array.from(atob(base64), character => character.charCodeAt(0))
}
