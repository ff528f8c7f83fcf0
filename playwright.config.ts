import { defineConfig } from '@playwright/test'
import { CHROMIUM_ARGUMENTS, findChromium } from './scripts/find-chromium.ts'

const executablePath = findChromium()
if (!executablePath) throw new Error('No Chromium was found: install one, or name it in CHROMIUM_PATH')

export default defineConfig({
  testDir: 'test/ui',
  globalSetup: './test/ui/server.ts',
  outputDir: 'test-results',
  reporter: 'list',
  // Times are measured, the server is shared, and two cores are all that is counted on.
  workers: 1,
  forbidOnly: Boolean(process.env.CI),
  timeout: 30_000,
  expect: { timeout: 10_000 },
  use: {
    browserName: 'chromium',
    launchOptions: { executablePath, args: CHROMIUM_ARGUMENTS },
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    // And `--trace retain-on-failure` tells more; it takes a third of the time on top.
    screenshot: 'only-on-failure',
  },
})
