/// <reference types="vite/types/importMeta.d.ts" />

import type { JsonObject } from '../../src/domain/json.ts'

/** A client's recorded request, with its headers and body exactly as sent. */
export interface Recorded {
  /** The client and the encoding. The requests in `quirks` were written by hand from the specification. */
  directory: string
  file: string
  signal: 'traces' | 'logs' | 'metrics'
  headers: Record<string, string>
  path: string
  bytes: Uint8Array
}

/** The files are data URLs, because tests in workerd can't read files. */
const files = import.meta.glob<string>(['../otlp/recorded/**', '../otlp/recorded-decodes.json.gz'], {
  query: '?url&inline',
  import: 'default',
  eager: true,
})
const DECODES = '../otlp/recorded-decodes.json.gz'

/** All recorded requests, sorted by name. */
export const recorded = (): readonly Recorded[] => {
  all ??= Object.keys(files)
    .filter(file => file !== DECODES && !file.endsWith('.headers.json'))
    .sort()
    .map(read)
  return all
}

let all: readonly Recorded[] | undefined

/** The body, decompressed if it was compressed on the wire. */
export async function unpacked({ headers, bytes }: Recorded): Promise<Uint8Array> {
  const encoding = headers['content-encoding']
  if (encoding !== 'gzip' && encoding !== 'deflate') return bytes
  return new Uint8Array(await decompressed(bytes, encoding).arrayBuffer())
}

const decompressed = (bytes: Uint8Array, encoding: 'gzip' | 'deflate'): Response =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(encoding)))

/**
 * The bodies as OTLP/JSON, by directory and file. An independent decoder wrote them at recording time: protobufjs,
 * using reflection on all of OpenTelemetry's .proto files.
 */
export const recordedDecodes = (): Promise<Record<string, JsonObject>> => decompressed(bytesOf(DECODES), 'gzip').json()

function read(name: string): Recorded {
  const [directory = '', file = ''] = name.split('/').slice(-2)
  return { directory, file, signal: signalOf(file), ...sentWith(name), bytes: bytesOf(name) }
}

function sentWith(name: string): Pick<Recorded, 'headers' | 'path'> {
  const notes = name.replace(/\.(?:pb|json)(?:\.gz|\.zz)?$/, '.headers.json')
  if (!(notes in files)) return { path: '/v1/traces', headers: { 'content-type': 'application/json' } }
  const { path, headers } = JSON.parse(new TextDecoder().decode(bytesOf(notes)))
  return { path, headers }
}

const signalOf = (file: string): Recorded['signal'] =>
  file.includes('-logs') ? 'logs' : file.includes('-metrics') ? 'metrics' : 'traces'

function bytesOf(name: string): Uint8Array {
  const url = files[name] ?? ''
  return Uint8Array.from(atob(url.slice(url.indexOf(',') + 1)), character => character.charCodeAt(0))
}
