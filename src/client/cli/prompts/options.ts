import { resolve } from 'node:path'
import type { Options } from '../command.ts'
import { Failure } from '../failure.ts'
import { VERSION_FORMS } from './remote.ts'

/* Options and helpers that the prompt commands share. */

export const folderOption = {
  folder: { type: 'text', value: 'path', description: 'Where the files are. Default: prompts.' },
} as const satisfies Options

export const versionOption = {
  version: {
    type: 'text',
    value: 'version',
    description: `The version: ${VERSION_FORMS}. Default: local, or active if there's no file.`,
  },
} as const satisfies Options

export const overrideOption = {
  override: {
    type: 'text',
    value: 'reason',
    description: "Activate the version even if it doesn't meet the gate. Only people can do this.",
  },
} as const satisfies Options

/** The folder with the files. */
export const folderAt = (directory: string, folder = 'prompts'): string => resolve(directory, folder)

/**
 * The entries for the given steps, or all entries if no steps are given. Throws a `Failure` for a step without an
 * entry.
 */
export function selected<Entry>(
  entries: ReadonlyMap<string, Entry>,
  steps: readonly string[],
  missing: (step: string) => string,
): Entry[] {
  if (steps.length === 0) return [...entries.values()]
  return [...new Set(steps)].map(step => {
    const entry = entries.get(step)
    if (!entry) throw new Failure('missing', 'prompt_not_found', missing(step))
    return entry
  })
}
