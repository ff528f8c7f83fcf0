import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdtemp, open, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe } from '../errors.ts'
import { parametersOf } from '../parameters.ts'
import { fieldOf } from '../service.ts'
import { pause } from '../timers.ts'
import type { Connection } from './connection.ts'
import type { Context } from './context.ts'
import { counted } from './counted.ts'
import { Failure } from './failure.ts'

/** A file's format, which determines how to tell whether a part is complete. */
type Format = 'jsonl' | 'csv' | 'chat'

interface Export {
  path: string
  query: Parameters<typeof parametersOf>[0]
  format: Format
}

/** How many times a part is requested if it's cut off. */
const MAX_ATTEMPTS = 3
/** How long to wait for the next piece of a file. */
const STALL_MS = 60_000
/** A limit that the last line of a part never reaches. */
const MAX_END_BYTES = 256

/**
 * Writes an export to stdout or to a file, following its cursors to the end. Each part goes to a temporary file first,
 * so a part that's cut off is requested again, and nothing is written twice. A named file appears only when it's
 * complete. Returns the number of lines in the export.
 */
export async function download(
  { out, directory, signal }: Pick<Context, 'out' | 'directory' | 'signal'>,
  connection: Connection,
  { path, query, format }: Export,
  file: string | undefined,
): Promise<number> {
  const target = file === undefined ? undefined : resolve(directory, file)
  const draftName = `${target}.${randomBytes(6).toString('hex')}.part`
  // Never write to a file that somebody else created or that a link points to.
  const draft = target === undefined ? undefined : await open(draftName, 'wx', 0o600)
  const folder = await mkdtemp(join(tmpdir(), 'countersign-'))
  try {
    let lines = 0
    for (let cursor: string | null | undefined, isFirst = true; cursor !== null; isFirst = false) {
      const name = join(folder, 'part')
      const part = await fetchPart(
        connection,
        `${path}?${parametersOf({ ...query, format, cursor })}`,
        name,
        format,
        signal,
      )
      lines += part.lines
      const start = format === 'csv' && !isFirst ? await headerBytes(name) : 0
      if (start < part.bytes) {
        for await (const bytes of createReadStream(name, { start, end: part.bytes - 1 })) {
          if (draft) await draft.writeFile(bytes)
          else await out.bytes(bytes)
        }
      }
      cursor = part.nextCursor
      if (cursor !== null) await out.progress(`${counted(lines, 'line')} so far`)
    }
    await draft?.close()
    if (target) await rename(draftName, target)
    return lines
  } catch (error) {
    await draft?.close().catch(() => {})
    if (target) await rm(draftName, { force: true })
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Part {
  /** The part's length without the line that marks its end. */
  bytes: number
  /** The number of lines, not counting that line or a header. */
  lines: number
  nextCursor: string | null
}

async function fetchPart(
  connection: Connection,
  path: string,
  name: string,
  format: Format,
  signal: AbortSignal,
): Promise<Part> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    const { body, headers } = await connection.open(path)
    const file = await open(name, 'w+', 0o600)
    try {
      const { bytes, newlines } = await store(body, file, signal)
      const nextCursor = headers.get('x-next-cursor')
      if (format === 'jsonl') return { ...(await checkedEnd(file, bytes, newlines)), nextCursor }
      return { bytes, lines: Math.max(0, newlines - (format === 'csv' ? 1 : 0)), nextCursor }
    } catch (error) {
      signal.throwIfAborted()
      if (attempt < MAX_ATTEMPTS) continue
      const message = `The export was cut off ${MAX_ATTEMPTS} times: ${describe(error).message}`
      throw new Failure('incomplete', 'cut_off', message, {
        cause: error,
        hint: 'What was written to stdout is not complete. A file named with --output was not created.',
      })
    } finally {
      await file.close()
    }
  }
}

/** Writes a response to a file. Throws if the response stalls or is cut off. */
async function store(
  body: ReadableStream<Uint8Array>,
  file: FileHandle,
  signal: AbortSignal,
): Promise<{ bytes: number; newlines: number }> {
  const reader = body.getReader()
  let [bytes, newlines] = [0, 0]
  const stop = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', stop)
  try {
    for (;;) {
      signal.throwIfAborted()
      const time = pause(STALL_MS, { keepsAlive: false })
      const stalled = time.over.then(() => {
        throw new Error(`nothing arrived for ${STALL_MS / 1000} seconds`)
      })
      const { done, value } = await Promise.race([reader.read(), stalled])
      time.cancel()
      signal.throwIfAborted()
      if (done) return { bytes, newlines }
      await file.write(value)
      bytes += value.length
      for (let at = value.indexOf(NEWLINE); at !== -1; at = value.indexOf(NEWLINE, at + 1)) newlines++
    }
  } finally {
    signal.removeEventListener('abort', stop)
    // The stream may already have failed.
    await reader.cancel().catch(() => {})
  }
}

const NEWLINE = 0x0a

/**
 * The size of the part without its last line, which says how many lines the part has. Throws if that number is missing
 * or wrong.
 */
async function checkedEnd(file: FileHandle, bytes: number, newlines: number): Promise<Omit<Part, 'nextCursor'>> {
  const start = Math.max(0, bytes - MAX_END_BYTES)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_END_BYTES), 0, MAX_END_BYTES, start)
  const tail = buffer.subarray(0, bytesRead)
  const begin = tail.subarray(0, -1).lastIndexOf(NEWLINE) + 1
  const line = tail.subarray(begin)
  const end = parsed(line.toString())
  if (fieldOf(end, 'end') !== true || fieldOf(end, 'items') !== newlines - 1)
    throw new Error('its last line is missing')
  return { bytes: bytes - line.length, lines: newlines - 1 }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** The length of a CSV file's first row. Quoted names may contain newlines. */
async function headerBytes(name: string): Promise<number> {
  let [at, isQuoted] = [0, false]
  for await (const chunk of createReadStream(name)) {
    for (const byte of chunk) {
      at++
      if (byte === 0x22) isQuoted = !isQuoted
      else if (byte === NEWLINE && !isQuoted) return at
    }
  }
  return at
}
