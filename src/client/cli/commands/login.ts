import { ask, askSecretly } from '../ask.ts'
import { defineCommand } from '../command.ts'
import { configFile, DEFAULT_PROFILE, withoutSlash, writeLogin } from '../config.ts'
import { Connection } from '../connection.ts'
import { invalid } from '../failure.ts'

export const login = defineCommand({
  name: 'login',
  summary: 'Store a URL and a key',
  description: [
    'Checks the key against the service, says who it belongs to, and stores the URL and the key in `~/.config/countersign/config.json` (or under XDG_CONFIG_HOME), which only you can read.',
    "The key isn't an option, because other users on the machine can see the options of running programs. The command asks for it, or reads it from stdin.",
    'In CI, set COUNTERSIGN_URL and COUNTERSIGN_KEY instead. They take precedence over a login, unless you name one with `--profile`.',
  ],
  arguments: {},
  options: {
    url: {
      type: 'text',
      value: 'url',
      description: "Where the service is. Default: COUNTERSIGN_URL. If that isn't set, the command asks.",
    },
  },
  examples: [
    ['countersign login', 'Ask for the URL and the key'],
    ['countersign login --url https://countersign.example.workers.dev < key.txt', 'Read the key from a file'],
    ['countersign login --profile staging', 'Keep a second login'],
  ],
  scopes: [],
  json: '`{profile, url, organization, project, user, scopes, actsAs}`',
  async run(context, { options }) {
    const { out, environment, profile = DEFAULT_PROFILE, projectOption: project } = context
    const given = options.url ?? environment.COUNTERSIGN_URL ?? (await ask(context, 'URL of the service: '))
    if (!given) throw invalid('The URL is missing', 'Add --url <url>.')
    const url = withoutSlash(given)
    const key = (await askSecretly(context, 'API key: ')).trim()
    if (key === '') throw invalid('The key is missing', 'Send it on stdin: countersign login < key.txt')
    const connection = new Connection({ url, key, project })
    const session = await connection.session()
    // A project that the key can't access would make every other command fail.
    if (project !== undefined) await connection.project()
    const { organization, user, scopes, actsAs } = session
    const slug = project ?? session.project?.slug ?? null
    await writeLogin(environment, profile, { url, key, ...(slug !== null && { project: slug }) })
    await out.json({ profile, url, organization, project: slug, user, scopes, actsAs })
    await out.line(`Logged in to ${organization.name}${slug === null ? '' : `, project ${slug}`}`, 'strong')
    await out.line(
      `as ${user ? `${user.name} (${user.email})` : `a key without a user`}. The key acts as ${actsAs === 'agent' ? 'an agent' : `a ${actsAs}`}.`,
    )
    await out.line(`Scopes: ${scopes.join(', ')}`)
    await out.note(`Stored in ${configFile(environment)}`, 'faint')
    if (new URL(url).protocol === 'http:' && !/^(localhost|127\.|\[::1\])/.test(new URL(url).hostname)) {
      await out.note('The URL begins with http:, so others on the network can read the key.', 'bad')
    }
    if (environment.COUNTERSIGN_KEY)
      await out.note('COUNTERSIGN_KEY is set, and takes precedence over this login.', 'bad')
    return 'ok'
  },
})
