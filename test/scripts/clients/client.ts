import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { CLIENTS } from './install.ts'
import { readPage } from './page.ts'

export interface Client {
  /** The page in docs/sdks with the client's programs. */
  page: string
  /**
   * The folder with the client's packages, and with the files that readers of the page supply themselves. Defaults to
   * the page's name.
   */
  folder?: string
  /** The program to run, from the page or the folder. */
  program?: string
  /** Programs that replace others, such as `{'telemetry.mjs': 'telemetry-3.mjs'}`. */
  instead?: Record<string, string>
}

export interface Environment {
  COUNTERSIGN_URL: string
  COUNTERSIGN_KEY: string
  [name: string]: string
}

export interface Output {
  /** The ids of the traces that the client created, as it printed them. */
  traceIds: string[]
  /** Everything else that it printed, such as warnings from its exporter. */
  warnings: string[]
}

const TIMEOUT_MS = 60_000
const TRACE_ID = /^trace_[0-9a-f]{32}$/

/**
 * Runs a client as its page describes: runs the page's `export` lines in a shell, then its program in Node, in a folder
 * where Node finds the client's own packages. Rejects if the program fails.
 */
export async function runClient(client: Client, environment: Environment): Promise<Output> {
  const { page: name, folder = name, program = 'app.mjs', instead = {} } = client
  const [page, readme] = await Promise.all([readPage(name), readPage('README')])
  const own = await programsIn(join(CLIENTS, folder))
  const programs = new Map([...(await programsIn(CLIENTS)), ...readme.programs, ...page.programs, ...own])
  for (const [replaced, file] of Object.entries(instead)) {
    const text = programs.get(file)
    if (text === undefined) throw new Error(`${file} not found`)
    programs.set(replaced, text)
  }
  const written = join(CLIENTS, folder, 'node_modules/.page')
  await rm(written, { recursive: true, force: true })
  await mkdir(written, { recursive: true })
  for (const [file, text] of programs) await writeFile(join(written, file), text)
  const { stdout, stderr } = await promisify(execFile)(
    'sh',
    ['-euc', `${page.exports}\nexec node --import ./diagnostics.mjs "$1"`, 'sh', program],
    {
      cwd: written,
      timeout: TIMEOUT_MS,
      env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, ...environment },
    },
  )
  return outputOf(stdout + stderr)
}

/** Separates the trace ids that a client printed from everything else. */
export function outputOf(printed: string): Output {
  const lines = stripVTControlCharacters(printed).split('\n').filter(Boolean)
  return { traceIds: lines.filter(line => TRACE_ID.test(line)), warnings: lines.filter(line => !TRACE_ID.test(line)) }
}

async function programsIn(folder: string): Promise<Map<string, string>> {
  const files = (await readdir(folder)).filter(file => file.endsWith('.mjs'))
  return new Map(
    await Promise.all(files.map(async file => [file, await readFile(join(folder, file), 'utf8')] as const)),
  )
}
