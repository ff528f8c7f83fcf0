import { PassThrough, Readable, Writable } from 'node:stream'
import { run } from '../../../src/client/cli/program.ts'

/** What a command printed, and its exit code. */
export interface Ran {
  code: number
  stdout: string
  stderr: string
}

interface Options {
  environment?: Record<string, string>
  directory?: string
  stdin?: string
  /** Whether stdin, stdout, and stderr are terminals. */
  isTerminal?: boolean
  signal?: AbortSignal
}

class Collected extends Writable {
  text = ''
  readonly isTTY: boolean
  readonly columns = 100
  readonly #decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true })

  constructor(isTTY: boolean) {
    super()
    this.isTTY = isTTY
  }

  override _write(part: Uint8Array, _encoding: string, done: () => void): void {
    this.text += this.#decoder.decode(part, { stream: true })
    done()
  }
}

/** Runs the command line in this process. */
export async function runCli(
  argv: readonly string[],
  { environment = {}, directory = '/', stdin, isTerminal = false, signal }: Options = {},
): Promise<Ran> {
  const [stdout, stderr] = [new Collected(isTerminal), new Collected(isTerminal)]
  const code = await run(argv, {
    stdin: Object.assign(stdin === undefined ? new PassThrough().end() : Readable.from([Buffer.from(stdin)]), {
      isTTY: isTerminal,
    }),
    stdout,
    stderr,
    environment,
    directory,
    signal: signal ?? new AbortController().signal,
  })
  return { code, stdout: stdout.text, stderr: stderr.text }
}
