import { defineConfig } from '@playwright/test'
import { CHROMIUM_ARGUMENTS, findChromium } from './scripts/find-chromium.ts'

const hasWindows = ['--headed', '--debug', '--ui'].some(option => process.argv.includes(option))
const executablePath = findChromium({ hasWindows })
if (!executablePath) throw new Error('Chromium not found. Install it, or set CHROMIUM_PATH.')
// The processes that run the tests also load this file, but without the command-line options. This variable tells them
// which Chromium to use.
process.env.CHROMIUM_PATH = executablePath

export default defineConfig({
  testDir: 'test/ui',
  globalSetup: './test/ui/server.ts',
  outputDir: 'test-results',
  reporter: 'list',
  // Three, even on two cores, because tests spend half of their time waiting.
  workers: 3,
  forbidOnly: Boolean(process.env.CI),
  timeout: 60_000,
  expect: { timeout: 10_000 },
  use: {
    browserName: 'chromium',
    launchOptions: { executablePath, args: CHROMIUM_ARGUMENTS },
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    // `--trace retain-on-failure` records more, but takes a third longer.
    screenshot: 'only-on-failure',
  },
})
