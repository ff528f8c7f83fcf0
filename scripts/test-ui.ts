/** The tests in a browser, as `npm test` runs them: where no Chromium is found it says so and passes, but for CI. */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { findChromium } from './find-chromium.ts'

if (findChromium()) {
  const playwright = resolve(import.meta.dirname, '../node_modules/@playwright/test/cli.js')
  const { status } = spawnSync(process.execPath, [playwright, 'test'], { stdio: 'inherit' })
  process.exitCode = status ?? 1
} else {
  console.log('The tests in a browser are left out: no Chromium was found. Install one, or name it in CHROMIUM_PATH.')
  process.exitCode = process.env.CI ? 1 : 0
}
