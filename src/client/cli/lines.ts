import { Failure } from './failure.ts'

const NEWLINE = 0x0a

/** The lines of a stream as bytes, without their newlines. Throws a `Failure` if a line is too long. */
export async function* linesOf(
  stream: AsyncIterable<Uint8Array | string>,
  maxBytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const part of stream) {
    let rest = Buffer.from(part)
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      yield Buffer.concat([...parts, rest.subarray(0, end)])
      rest = rest.subarray(end + 1)
      parts = []
      bytes = 0
    }
    if (rest.length > 0) parts.push(rest)
    bytes += rest.length
    if (bytes > maxBytes)
      throw new Failure('usage', 'line_too_long', `A line is longer than ${maxBytes / 1024 ** 2} MiB`)
  }
  if (bytes > 0) yield Buffer.concat(parts)
}
