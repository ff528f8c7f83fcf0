import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as v from 'valibot'

/** Where each client has its folder. */
export const CLIENTS = import.meta.dirname

const INSTALLED = join(CLIENTS, 'node_modules/.installed-lock.json')

/**
 * Installs the clients' packages, as their lock file has them, where that was not done yet. They stand apart from the
 * project's own: 440 MB that the Worker does not need, and several versions of some of them.
 */
export async function installClients(): Promise<void> {
  const lock = await readFile(join(CLIENTS, 'package-lock.json'), 'utf8')
  if (lock === (await readFile(INSTALLED, 'utf8').catch(() => undefined))) return
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  await promisify(execFile)('npm', ['ci', ...options], { cwd: CLIENTS })
  await writeFile(INSTALLED, lock)
}

/** The packages of a client, `name@version`. */
export async function packagesOf(folder: string): Promise<string[]> {
  const { dependencies } = v.parse(Manifest, JSON.parse(await readFile(join(CLIENTS, folder, 'package.json'), 'utf8')))
  return Object.entries(dependencies).map(([name, version]) => `${name}@${version}`)
}

const Manifest = v.object({ dependencies: v.record(v.string(), v.string()) })
