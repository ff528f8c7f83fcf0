import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PROJECT } from './server.ts'

/**
 * Builds the Worker that the tests' servers run, and the pages if they haven't been built. Does nothing under
 * `npm test`, which has just built both.
 */
export async function setup(): Promise<void> {
  if (process.env.COUNTERSIGN_BUILT) return
  const hasPages = existsSync(join(PROJECT, 'dist/ui/index.html'))
  await promisify(execFile)('npm', ['run', hasPages ? 'build:worker' : 'build'], { cwd: PROJECT })
}
