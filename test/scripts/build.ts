import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PROJECT } from './server.ts'

/** Builds the Worker that the tests' servers run, and its pages unless `npm test` or someone else has built them. */
export async function setup(): Promise<void> {
  const hasPages = existsSync(join(PROJECT, 'dist/ui/index.html'))
  await promisify(execFile)('npm', ['run', hasPages ? 'build:worker' : 'build'], { cwd: PROJECT })
}
