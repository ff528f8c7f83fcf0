import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { CLIENTS } from './install.ts'
import { readPage } from './page.ts'

export interface Client {
  /** The page of docs/sdks with its programs. */
  page: string
  /** The folder with its packages, and with what the page leaves to the reader; else named as the page. */
  folder?: string
  /** The program of the page, or of the folder, that is run. */
  program?: string
  /** Programs that take the place of others: `{'telemetry.mjs': 'telemetry-3.mjs'}`. */
  instead?: Record<string, string>
}

export interface Environment {
  COUNTERSIGN_URL: string
  COUNTERSIGN_KEY: string
  [name: string]: string
}

export interface Output {
  /** The traces that it says to have made. */
  traceIds: string[]
  /** All else that it printed, such as what its exporter complains about. */
  complaints: string[]
}

const TIMEOUT_MS = 60_000
const TRACE_ID = /^trace_[0-9a-f]{32}$/

/**
 * Runs a client as its page has it: the page's `export` lines in a shell, then its program in Node, in a folder where the
 * client's own packages are found. Rejects where it fails.
 */
export async function runClient(client: Client, environment: Environment): Promise<Output> {
  const { page: name, folder = name, program = 'app.mjs', instead = {} } = client
  const [page, readme] = await Promise.all([readPage(name), readPage('README')])
  const own = await programsIn(join(CLIENTS, folder))
  const programs = new Map([...(await programsIn(CLIENTS)), ...readme.programs, ...page.programs, ...own])
  for (const [replaced, file] of Object.entries(instead)) {
    const text = programs.get(file)
    if (text === undefined) throw new Error(`There is no ${file}`)
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
  const lines = `${stdout}${stderr}`.split('\n').filter(Boolean)
  return { traceIds: lines.filter(line => TRACE_ID.test(line)), complaints: lines.filter(line => !TRACE_ID.test(line)) }
}

async function programsIn(folder: string): Promise<Map<string, string>> {
  const files = (await readdir(folder)).filter(file => file.endsWith('.mjs'))
  return new Map(
    await Promise.all(files.map(async file => [file, await readFile(join(folder, file), 'utf8')] as const)),
  )
}
