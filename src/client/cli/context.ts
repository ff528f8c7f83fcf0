import type { Readable } from 'node:stream'
import type { Connection } from './connection.ts'
import type { Output } from './output.ts'

/** What a command can use. */
export interface Context {
  out: Output
  stdin: Readable & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown }
  environment: NodeJS.ProcessEnv
  /** The folder that relative paths start from. */
  directory: string
  /** The profile that the user named. */
  profile: string | undefined
  /** The project that the user named. */
  projectOption: string | undefined
  /** Aborts when the user or the system wants the command to stop. */
  signal: AbortSignal
  /** The deployment to call. Throws a `Failure` if there's no login. */
  connect(): Promise<Connection>
}
