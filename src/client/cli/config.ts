import { chmod, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fieldOf } from '../service.ts'
import { Failure, invalid } from './failure.ts'
import { replaceFile } from './files.ts'

/** Where a deployment is, and the key to call it with. */
export interface Login {
  url: string
  key: string
  project?: string | undefined
}

type Logins = ReadonlyMap<string, Login>

export const DEFAULT_PROFILE = 'default'

/** The file that `countersign login` writes. */
export const configFile = (environment: NodeJS.ProcessEnv): string =>
  join(environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config'), 'countersign', 'config.json')

/**
 * The login for a command. It comes from COUNTERSIGN_URL and COUNTERSIGN_KEY, or else it's the stored login. A stored
 * key is never sent to a URL other than the one it was stored for.
 */
export async function findLogin(environment: NodeJS.ProcessEnv, profile: string | undefined): Promise<Login> {
  const { COUNTERSIGN_URL: url, COUNTERSIGN_KEY: key, COUNTERSIGN_PROJECT: project } = environment
  if (profile === undefined && key) {
    const home = url || (await readLogins(environment)).get(DEFAULT_PROFILE)?.url
    if (!home) throw invalid('COUNTERSIGN_KEY is set, but COUNTERSIGN_URL is not')
    return { url: home, key, project: project || undefined }
  }
  const name = profile ?? DEFAULT_PROFILE
  const login = (await readLogins(environment)).get(name)
  if (!login) {
    const message = profile === undefined ? "You aren't logged in" : `There is no login "${profile}"`
    const command = profile === undefined ? 'countersign login' : `countersign login --profile ${profile}`
    const hint = `Run "${command}", or set COUNTERSIGN_URL and COUNTERSIGN_KEY.`
    throw new Failure('denied', 'not_authenticated', message, { hint })
  }
  if (profile === undefined && url && withoutSlash(url) !== login.url) {
    throw invalid(`COUNTERSIGN_URL is set, but COUNTERSIGN_KEY is not: the stored key is for ${login.url}`)
  }
  return { ...login, project: (profile === undefined && project) || login.project }
}

/** All stored logins, by profile. */
export async function readLogins(environment: NodeJS.ProcessEnv): Promise<Logins> {
  const file = configFile(environment)
  const text = await readFile(file, 'utf8').catch(error => {
    if (fieldOf(error, 'code') === 'ENOENT') return '{}'
    throw invalid(`${file} can't be read: ${fieldOf(error, 'message')}`)
  })
  if (process.platform !== 'win32' && text !== '{}') {
    const { mode } = await stat(file)
    if (mode & 0o077) await chmod(file, 0o600)
  }
  return (
    loginsIn(text) ??
    (() => {
      throw invalid(`${file} isn't a countersign config file`, `Delete it, and run "countersign login" again.`)
    })()
  )
}

/** Stores a login, or deletes it. */
export async function writeLogin(
  environment: NodeJS.ProcessEnv,
  profile: string,
  login: Login | undefined,
): Promise<void> {
  const logins = new Map(await readLogins(environment))
  if (login) logins.set(profile, login)
  else logins.delete(profile)
  const profiles = Object.fromEntries(logins)
  await replaceFile(configFile(environment), `${JSON.stringify({ profiles }, undefined, 2)}\n`, { isPrivate: true })
}

export const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

function loginsIn(text: string): Logins | undefined {
  try {
    const profiles = fieldOf(JSON.parse(text), 'profiles') ?? {}
    const logins = new Map<string, Login>()
    for (const [name, given] of Object.entries(profiles)) {
      const login = loginOf(given)
      if (!login) return undefined
      logins.set(name, login)
    }
    return logins
  } catch {
    return undefined
  }
}

function loginOf(value: unknown): Login | undefined {
  const [url, key, project] = [fieldOf(value, 'url'), fieldOf(value, 'key'), fieldOf(value, 'project')]
  if (typeof url !== 'string' || typeof key !== 'string') return undefined
  return { url, key, ...(typeof project === 'string' && { project }) }
}
