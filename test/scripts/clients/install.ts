import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as v from 'valibot'

/** The directory with a folder for each client. */
export const CLIENTS = import.meta.dirname

const INSTALLED = join(CLIENTS, 'node_modules/.installed-lock.json')

/**
 * Installs the clients' packages from their lock file, unless that was already done. They're separate from the
 * project's own packages, because they take 440 MB that the Worker doesn't need and include several versions of some
 * packages.
 */
export async function installClients(): Promise<void> {
  const lock = await readFile(join(CLIENTS, 'package-lock.json'), 'utf8')
  if (lock === (await readFile(INSTALLED, 'utf8').catch(() => undefined))) return
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await promisify(execFile)('npm', ['ci', ...options], { cwd: CLIENTS })
  await writeFile(INSTALLED, lock)
}

/** A client's packages, as `name@version`. */
export async function packagesOf(folder: string): Promise<string[]> {
  const { dependencies } = v.parse(Manifest, JSON.parse(await readFile(join(CLIENTS, folder, 'package.json'), 'utf8')))
  return Object.entries(dependencies).map(([name, version]) => `${name}@${version}`)
}

const Manifest = v.object({ dependencies: v.record(v.string(), v.string()) })
