import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { shownJson, shownText } from './shown-text.ts'

/** A stream that a command writes to. */
export type Sink = Writable & { isTTY?: boolean; columns?: number }

/** How a line looks in a terminal with colors. */
export type Style = 'plain' | 'strong' | 'faint' | 'added' | 'removed' | 'bad'

const STYLES: Readonly<Record<Style, string>> = {
  plain: '',
  strong: '\x1b[1m',
  faint: '\x1b[2m',
  added: '\x1b[32m',
  removed: '\x1b[31m',
  bad: '\x1b[31m',
}

/** How often progress is printed if it can't be updated in place. */
const PROGRESS_LINE_MS = 10_000

/**
 * Prints a command's data to stdout, and everything else (messages, progress, and errors) to stderr. Escapes all text,
 * because much of it comes from traces.
 */
export class Output {
  readonly isJson: boolean
  readonly #stdout: Sink
  readonly #stderr: Sink
  readonly #hasColors: boolean
  readonly #decoder = new TextDecoder()
  #hasProgress = false
  #progressAt = 0

  constructor(
    stdout: Sink,
    stderr: Sink,
    { isJson, environment }: { isJson: boolean; environment: NodeJS.ProcessEnv },
  ) {
    this.#stdout = stdout
    this.#stderr = stderr
    this.isJson = isJson
    this.#hasColors = !environment.NO_COLOR && environment.TERM !== 'dumb'
  }

  /** Whether stdout is a terminal. */
  get isTerminal(): boolean {
    return this.#stdout.isTTY === true
  }

  /** The width of a line of stdout. */
  get width(): number {
    return (this.#stdout.isTTY && this.#stdout.columns) || 120
  }

  /** Prints lines of text to stdout, for people. With `--json`, prints nothing. */
  async line(text = '', style: Style = 'plain'): Promise<void> {
    if (!this.isJson) await this.#write(this.#stdout, `${this.#styled(text, style, this.#stdout)}\n`)
  }

  /** Prints a value to stdout if `--json` is given. */
  async json(value: unknown): Promise<void> {
    if (this.isJson) await this.#write(this.#stdout, `${shownJson(JSON.stringify(value))}\n`)
  }

  /** Prints to stdout text that isn't from a trace, such as help. */
  async text(text: string): Promise<void> {
    await this.#write(this.#stdout, text)
  }

  /** Prints a part of a file to stdout as it is, except in a terminal. */
  async bytes(part: Uint8Array): Promise<void> {
    await this.#write(this.#stdout, this.isTerminal ? shownText(this.#decoder.decode(part, { stream: true })) : part)
  }

  /** Writes a question, or what the user types, to stderr. */
  prompt(text: string): void {
    this.#stderr.write(text)
  }

  /** Prints a message to stderr, for people. With `--json`, prints nothing. */
  async note(text: string, style: Style = 'plain'): Promise<void> {
    if (this.isJson) return
    await this.#clearProgress()
    await this.#write(this.#stderr, `${this.#styled(text, style, this.#stderr)}\n`)
  }

  /** Prints an error to stderr, as text or as a line of JSON. */
  async error(text: string, value: object): Promise<void> {
    await this.#clearProgress()
    const shown = this.isJson ? shownJson(JSON.stringify(value)) : this.#styled(text, 'bad', this.#stderr)
    await this.#write(this.#stderr, `${shown}\n`)
  }

  /**
   * Shows the progress of a long task. In a terminal, the progress is updated in place. Otherwise, a line is printed
   * from time to time.
   */
  async progress(text: string): Promise<void> {
    if (this.isJson) return
    if (this.#stderr.isTTY) {
      this.#hasProgress = true
      const line = shownText(text).slice(0, (this.#stderr.columns ?? 80) - 1)
      await this.#write(this.#stderr, `\r\x1b[2K${line}`)
    } else if (Date.now() - this.#progressAt >= PROGRESS_LINE_MS) {
      this.#progressAt = Date.now()
      await this.#write(this.#stderr, `${shownText(text)}\n`)
    }
  }

  async #clearProgress(): Promise<void> {
    if (!this.#hasProgress) return
    this.#hasProgress = false
    await this.#write(this.#stderr, '\r\x1b[2K')
  }

  #styled(text: string, style: Style, stream: Sink): string {
    const shown = shownText(text)
    return STYLES[style] && stream.isTTY && this.#hasColors ? `${STYLES[style]}${shown}\x1b[0m` : shown
  }

  async #write(stream: Sink, text: string | Uint8Array): Promise<void> {
    if (!stream.write(text)) await once(stream, 'drain')
  }
}
