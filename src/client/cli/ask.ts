import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Context } from './context.ts'
import { Failure, invalid } from './failure.ts'

/* Questions for the user. They go to stderr, because stdout is for data. */

type Asked = Pick<Context, 'stdin' | 'out' | 'signal'>

/** An answer, or undefined if nobody is at the terminal. */
export async function ask(asked: Asked, question: string): Promise<string | undefined> {
  return asked.stdin.isTTY ? readLine(asked, question, shown => asked.out.prompt(shown)) : undefined
}

/** A secret, which is either typed without being shown or read from stdin to its end. */
export async function askSecretly(asked: Asked, question: string): Promise<string> {
  if (!asked.stdin.isTTY) return readAll(asked.stdin)
  asked.out.prompt(question)
  const secret = await readLine(asked, '', () => {})
  asked.out.prompt('\n')
  return secret
}

/** All of stdin as text. */
export async function readAll(stdin: Context['stdin']): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stdin) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks))
  } catch {
    throw invalid("stdin isn't UTF-8 text")
  }
}

/** A line from the terminal. `show` shows the question and what's typed. */
async function readLine({ stdin, signal }: Asked, question: string, show: (shown: string) => void): Promise<string> {
  const output = new Writable({
    write: (shown, _, done) => {
      show(String(shown))
      done()
    },
  })
  const lines = createInterface({ input: stdin, output, terminal: true })
  const ended = new Promise<never>((_, reject) => {
    // In a terminal's raw mode, Ctrl-C is a character instead of a signal.
    lines.once('SIGINT', () => reject(new Failure('interrupted', 'interrupted', 'Interrupted')))
    lines.once('close', () => reject(invalid('Nothing was entered')))
  })
  try {
    return await Promise.race([lines.question(question, { signal }), ended])
  } finally {
    ended.catch(() => {})
    lines.close()
  }
}
