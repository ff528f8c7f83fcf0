import { defineCommand } from '../command.ts'
import { DEFAULT_PROFILE, readLogins, writeLogin } from '../config.ts'
import { Failure } from '../failure.ts'

export const logout = defineCommand({
  name: 'logout',
  summary: 'Delete a stored key',
  description: ["Deletes it from this machine only. To invalidate the key, revoke it in the app's settings."],
  arguments: {},
  options: {},
  examples: [['countersign logout', 'Delete the default login']],
  scopes: [],
  json: '`{profile}`',
  async run({ out, environment, profile = DEFAULT_PROFILE }) {
    if (!(await readLogins(environment)).has(profile)) {
      throw new Failure('missing', 'not_found', `There is no login "${profile}"`)
    }
    await writeLogin(environment, profile, undefined)
    await out.json({ profile })
    await out.line('Logged out.')
    return 'ok'
  },
})
