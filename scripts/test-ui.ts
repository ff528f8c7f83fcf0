/**
 * Runs the browser tests for `npm test`, which has already built the pages. If Chromium isn't installed, prints a
 * message, and succeeds except in CI.
 */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { findChromium } from './find-chromium.ts'

if (findChromium()) {
  const playwright = resolve(import.meta.dirname, '../node_modules/@playwright/test/cli.js')
  const env = { ...process.env, COUNTERSIGN_BUILT: 'yes' }
  const { status } = spawnSync(process.execPath, [playwright, 'test'], { stdio: 'inherit', env })
  process.exitCode = status ?? 1
} else {
  console.log('The browser tests were skipped: Chromium not found. Install it, or set CHROMIUM_PATH.')
  process.exitCode = process.env.CI ? 1 : 0
}
