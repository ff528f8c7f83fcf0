import type { Command } from '../command.ts'
import { importExports } from './import.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { exportTraces } from './traces-export.ts'
import { listTraces } from './traces-list.ts'
import { showTrace } from './traces-show.ts'

/** Every command, in the order of the help and of docs/cli.md. */
export const commands: readonly Command[] = [login, logout, listTraces, showTrace, exportTraces, importExports]
