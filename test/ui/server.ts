import { newServer, PROJECT } from '../scripts/server.ts'

/**
 * Starts what `npm start` starts, without the demo, for all tests; what it returns ends it and removes its state. A server that
 * the environment names is taken as it is.
 */
// biome-ignore lint/style/noDefaultExport: Playwright asks for it
export default async function serve(): Promise<() => Promise<void>> {
  if (process.env[URL_VARIABLE]) return async () => undefined
  const server = await newServer()
  const printed = await server.start({ SEED: 'none' }, PROJECT)
  if (!(await server.isServing())) {
    await server.remove()
    throw new Error(`The server did not start:\n${printed}`)
  }
  process.env[URL_VARIABLE] = server.url
  return () => server.remove()
}

const URL_VARIABLE = 'COUNTERSIGN_UI_TEST_URL'

/** Where the server of the tests listens. */
export function serverUrl(): string {
  const url = process.env[URL_VARIABLE]
  if (!url) throw new Error('No server was started for the tests')
  return url
}
