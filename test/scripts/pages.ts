import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PROJECT } from './server.ts'

/** Builds the pages that the tests' servers serve, unless `npm test` or someone else has built them already. */
export async function setup(): Promise<void> {
  if (existsSync(join(PROJECT, 'dist/ui/index.html'))) return
  await promisify(execFile)('npm', ['run', 'build'], { cwd: PROJECT })
}
