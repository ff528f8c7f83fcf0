import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { PROJECT } from '../server.ts'
import { type Environment, type Output, outputOf } from './client.ts'
import { CLIENTS } from './install.ts'
import { readPage } from './page.ts'

/** A Python client, run with the programs on its page. */
export interface PythonClient {
  /** The page in docs/sdks with the client's programs. */
  page: string
  /** The name of its requirements file in `python/`, without the extension. Defaults to the page's name. */
  requirements?: string
  /** The program to run. */
  program?: string
}

const run = promisify(execFile)

const CACHE = join(PROJECT, 'node_modules/.cache/python-clients')
const TIMEOUT_MS = 120_000

/** The file with the exact version of each package that the client needs, as `pip freeze` prints them. */
const requirementsFile = ({ page, requirements = page }: PythonClient): string =>
  join(CLIENTS, 'python', `${requirements}.requirements.txt`)

/** The names of the packages that a client is tested with. */
export async function installedPackages(client: PythonClient): Promise<Set<string>> {
  const lines = (await readFile(requirementsFile(client), 'utf8')).split('\n')
  return new Set(lines.map(line => line.split('==')[0] ?? ''))
}

/**
 * Installs a client's packages into their own virtual environment, unless that was already done for the same
 * requirements. Returns the environment's directory.
 */
export async function installPython(client: PythonClient): Promise<string> {
  const file = requirementsFile(client)
  const digest = createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
    .slice(0, 16)
  const directory = join(CACHE, digest)
  const installed = join(directory, 'installed')
  if ((await readFile(installed).catch(() => undefined)) !== undefined) return directory
  await rm(directory, { recursive: true, force: true })
  await run('python3', ['-m', 'venv', directory])
  const pip = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '--no-compile',
    '-r',
    file,
  ]
  await run(join(directory, 'bin/python'), pip, { timeout: 600_000, maxBuffer: 64 * 1024 * 1024 })
  await writeFile(installed, '')
  return directory
}

/**
 * Runs a client as its page describes: runs the page's `export` lines in a shell, then its program in Python, with the
 * programs that the page takes from [the OpenTelemetry page](docs/sdks/opentelemetry-python.md). Rejects if the program
 * fails.
 */
export async function runPython(client: PythonClient, environment: Environment): Promise<Output> {
  const [page, shared] = await Promise.all([readPage(client.page), readPage('opentelemetry-python')])
  const bin = join(await installPython(client), 'bin')
  const folder = await mkdtemp(join(tmpdir(), 'countersign-python-'))
  try {
    for (const [file, text] of new Map([...shared.programs, ...page.programs])) {
      if (file.endsWith('.py')) await writeFile(join(folder, file), text)
    }
    const { stdout, stderr } = await run(
      'sh',
      ['-euc', `${page.exports}\nexec python "$1"`, 'sh', client.program ?? 'app.py'],
      {
        cwd: folder,
        timeout: TIMEOUT_MS,
        // Some clients write to the home directory.
        env: {
          PATH: `${bin}${delimiter}${process.env.PATH}`,
          HOME: folder,

          ...environment,
        },
      },
    )
    return outputOf(stdout + stderr)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
