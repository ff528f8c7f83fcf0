import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fieldOf } from '../../service.ts'
import { pause } from '../../timers.ts'
import { counted } from '../counted.ts'
import { Failure } from '../failure.ts'
import { shownText } from '../shown-text.ts'

/** How long a program may take to exit after it's asked to. */
const END_MS = 2000
/** How much of a program's stderr is kept. */
const MAX_STDERR_BYTES = 2000

/** The error of an item. Its message becomes the item's result. */
export class ItemError extends Error {
  // Empty, because the item's result would otherwise begin with the error's name.
  override readonly name = ''
}

/** A program that runs items, and where it runs. */
export interface Candidate {
  command: readonly string[]
  directory: string
  environment: NodeJS.ProcessEnv
}

/** A running program. */
export class Program {
  readonly child: ChildProcessWithoutNullStreams
  /**
   * Resolves when the program has exited and its output has been read. The value says how the program ended, or is
   * undefined if the exit code is 0.
   */
  readonly ended: Promise<string | undefined>
  #stderr = Buffer.alloc(0)

  /**
   * Starts a program, without a shell. `keep` says which part of its stderr matters: the first part if the program runs
   * a single item, or the last part if it runs many items.
   */
  constructor({ command, directory, environment }: Candidate, keep: 'first' | 'last') {
    const [file = '', ...args] = command
    // The program leads a process group, so that it can be killed along with everything that it has started.
    const options = { cwd: directory, env: environment, detached: process.platform !== 'win32' } as const
    this.child = spawn(file, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
    this.child.stderr.on('data', (part: Buffer) => {
      const all = Buffer.concat([this.#stderr, part])
      this.#stderr = Buffer.from(keep === 'first' ? all.subarray(0, MAX_STDERR_BYTES) : all.subarray(-MAX_STDERR_BYTES))
    })
    // The program may exit without reading its input.
    this.child.stdin.on('error', () => {})
    this.ended = this.#end(file)
    // The code that awaits `ended` handles the error.
    this.ended.catch(() => {})
  }

  /** Closes the program's input, and gives the program time to exit on its own. */
  async close(): Promise<void> {
    this.child.stdin.end()
    await this.#untilEnd()
    await this.stop()
  }

  /** Asks the program and everything that it has started to exit, and then kills whatever is still running. */
  async stop(): Promise<void> {
    this.#signal('SIGTERM')
    await this.#untilEnd()
    this.#signal('SIGKILL')
    // A process that has left the group may keep these streams open, and `ended` waits for them to close.
    this.child.stdout.destroy()
    this.child.stderr.destroy()
    await this.ended.catch(() => {})
  }

  async #untilEnd(): Promise<void> {
    const time = pause(END_MS, { keepsAlive: true })
    await Promise.race([this.ended.catch(() => {}), time.over])
    time.cancel()
  }

  async #end(file: string): Promise<string | undefined> {
    // `once` rejects if the program can't be started.
    const [code, signal] = await once(this.child, 'close').catch(error => {
      const reason =
        fieldOf(error, 'code') === 'ENOENT' ? "isn't a program" : `can't be run (${fieldOf(error, 'code')})`
      throw new Failure('usage', 'command_not_found', `${file} ${reason}`, {
        cause: error,
        hint: 'The command runs without a shell. For pipes and variables, use: -- sh -c "…"',
      })
    })
    if (code === 0) return undefined
    const said = shownText(this.#stderr.toString()).trim()
    const how = signal ? `was killed by ${signal}` : `exited with code ${code}`
    return `The command ${how}${said === '' ? '' : `: ${said}`}`
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.child
    if (pid === undefined) return
    try {
      if (process.platform === 'win32') this.child.kill(signal)
      else process.kill(-pid, signal)
    } catch {
      // The whole group has already exited.
    }
  }
}

/** Waits for a program's answer to an item. Stops waiting after a limited time, or when the experiment stops. */
export async function withinTime<Answer>(
  answer: Promise<Answer>,
  seconds: number,
  signal: AbortSignal,
): Promise<Answer> {
  const time = pause(seconds * 1000, { keepsAlive: false })
  const late = time.over.then(() => {
    throw new ItemError(`The command took longer than ${counted(seconds, 'second')}`)
  })
  let stop = () => {}
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
  })
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.race([answer, late, stopped])
  } finally {
    time.cancel()
    signal.removeEventListener('abort', stop)
  }
}
