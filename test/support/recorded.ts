/// <reference types="vite/types/importMeta.d.ts" />

import type { JsonObject } from '../../src/domain/json.ts'

/** A recorded client's request: its body as on the wire, and its headers. */
export interface Recorded {
  /** The client and encoding; `quirks` are hand-written from the specification. */
  directory: string
  file: string
  signal: 'traces' | 'logs' | 'metrics'
  headers: Record<string, string>
  path: string
  bytes: Uint8Array
}

/** As data URLs, because tests in workerd have no files. */
const files = import.meta.glob<string>(['../otlp/recorded/**', '../otlp/recorded-decodes.json.gz'], {
  query: '?url&inline',
  import: 'default',
  eager: true,
})
const DECODES = '../otlp/recorded-decodes.json.gz'

/** All recorded requests, in the order of their names. */
export const recorded = (): Recorded[] =>
  Object.keys(files)
    .filter(file => file !== DECODES && !file.endsWith('.headers.json'))
    .sort()
    .map(read)

/** The body, decompressed if it was compressed on the wire. */
export const unpacked = async ({ headers, bytes }: Recorded): Promise<Uint8Array> =>
  headers['content-encoding'] === 'gzip' ? new Uint8Array(await gunzipped(bytes).arrayBuffer()) : bytes

const gunzipped = (bytes: Uint8Array): Response =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')))

/**
 * The bodies in OTLP/JSON, by directory and file. An independent decoder wrote them at recording time: protobufjs by
 * reflection over all of OpenTelemetry's .proto files.
 */
export const recordedDecodes = (): Promise<Record<string, JsonObject>> => gunzipped(bytesOf(DECODES)).json()

function read(name: string): Recorded {
  const [directory = '', file = ''] = name.split('/').slice(-2)
  return { directory, file, signal: signalOf(file), ...sentWith(name), bytes: bytesOf(name) }
}

function sentWith(name: string): Pick<Recorded, 'headers' | 'path'> {
  const notes = name.replace(/\.(?:pb|json)(?:\.gz)?$/, '.headers.json')
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
