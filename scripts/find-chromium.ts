import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Headless builds of Chromium, which use a third less processor time than other builds. */
const HEADLESS = ['chromium-headless-shell', 'chrome-headless-shell']
const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/**
 * The path of an installed Chromium: CHROMIUM_PATH, or else the first one on the PATH. Undefined if there is none.
 * Prefers a headless build unless `hasWindows` is set.
 */
export function findChromium({ hasWindows = false } = {}): string | undefined {
  const { CHROMIUM_PATH, PATH = '' } = process.env
  if (CHROMIUM_PATH) return CHROMIUM_PATH
  const folders = PATH.split(delimiter).filter(folder => folder !== '')
  const names = hasWindows ? NAMES : [...HEADLESS, ...NAMES]
  return names.flatMap(name => folders.map(folder => join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Arguments for a headless Chromium. They allow it to run as root, in a container that has no GPU, and keep it from
 * contacting anything but the app.
 */
export const CHROMIUM_ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
