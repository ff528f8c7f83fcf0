import { newServer, PROJECT } from '../scripts/server.ts'

/**
 * Starts the server for all tests as `npm start` does, but without the demo, and allows webhooks to this machine.
 * Returns a function that stops the server and removes its state. If the environment specifies a server, the tests use
 * that server instead.
 */
// biome-ignore lint/style/noDefaultExport: Playwright requires it
export default async function serve(): Promise<() => Promise<void>> {
  if (process.env[URL_VARIABLE]) return async () => undefined
  const server = await newServer()
  // `npm test` has just built the pages.
  const printed = await server.start(
    { SEED: 'none', ALLOW_LOCAL_WEBHOOKS: '1' },
    process.env.COUNTERSIGN_BUILT ? undefined : PROJECT,
  )
  if (!(await server.isServing())) {
    await server.remove()
    throw new Error(`The server did not start:\n${printed}`)
  }
  process.env[URL_VARIABLE] = server.url
  return () => server.remove()
}

/**
 * Starts a server with these variables for the tests in one file. Returns a function that stops the server and switches
 * back to the shared one.
 */
export async function useOwnServer(variables: Readonly<Record<string, string>>): Promise<() => Promise<void>> {
  const shared = serverUrl()
  const server = await newServer()
  // If there's no `.dev.vars`, the Worker gets its variables from the environment.
  await server.start({ SEED: 'none', CLOUDFLARE_INCLUDE_PROCESS_ENV: 'true', ...variables })
  process.env[URL_VARIABLE] = server.url
  return async () => {
    process.env[URL_VARIABLE] = shared
    await server.remove()
  }
}

const URL_VARIABLE = 'COUNTERSIGN_UI_TEST_URL'

/** The URL of the server that the tests use. */
export function serverUrl(): string {
  const url = process.env[URL_VARIABLE]
  if (!url) throw new Error('No server was started for the tests')
  return url
}
