import type { Options } from './command.ts'

/** The options that every command has. */
export const GLOBAL_OPTIONS = {
  json: { type: 'flag', description: 'Print JSON. An error is printed to stderr as a line of JSON.' },
  project: {
    type: 'text',
    value: 'slug',
    description:
      "The project. Default: COUNTERSIGN_PROJECT, or the login's project, or the only one that the key can access.",
  },
  profile: { type: 'text', value: 'name', description: 'The login to use, if you have several. Default: default.' },
  help: { type: 'flag', short: 'h', description: 'Show how to use the command.' },
} as const satisfies Options
