import type { Command } from './command.ts'
import { commands } from './commands/index.ts'
import { findLogin } from './config.ts'
import { Connection } from './connection.ts'
import type { Context } from './context.ts'
import { type Ending, EXIT_CODES } from './exit-codes.ts'
import { faultAsJson, faultOf, invalid } from './failure.ts'
import { commandHelp, groupHelp, overview } from './help.ts'
import { Output, type Sink } from './output.ts'
import { parse, wantsJson } from './parse.ts'
import { closest } from './spelling.ts'
import { Stop } from './stop.ts'
import { version } from './version.ts'

/** What the program needs from its process. */
export interface Surroundings extends Pick<Context, 'stdin' | 'environment' | 'directory' | 'signal'> {
  stdout: Sink
  stderr: Sink
}

/** Runs a command line, and returns its exit code. Never throws. */
export async function run(argv: readonly string[], { stdout, stderr, ...surroundings }: Surroundings): Promise<number> {
  const out = new Output(stdout, stderr, { isJson: wantsJson(argv), environment: surroundings.environment })
  try {
    return EXIT_CODES[await dispatch(argv, out, surroundings)].code
  } catch (error) {
    const { signal } = surroundings
    const fault = faultOf(error)
    const ending = signal.aborted && error === signal.reason ? endingOf(signal.reason) : fault.ending
    if (ending !== 'closed' && ending !== 'interrupted' && ending !== 'terminated') {
      await out.error(asText(fault), faultAsJson(fault))
    }
    return EXIT_CODES[ending].code
  }
}

const endingOf = (reason: unknown): Ending => (reason instanceof Stop ? reason.ending : 'internal')

async function dispatch(
  argv: readonly string[],
  out: Output,
  surroundings: Omit<Surroundings, 'stdout' | 'stderr'>,
): Promise<Ending> {
  const [first] = argv
  if (first === '--version' || first === '-v') {
    await out.text(`${version}\n`)
    return 'ok'
  }
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    await out.text(helpFor(argv.slice(1)))
    return 'ok'
  }
  if (first.startsWith('-'))
    throw invalid('Options come after the command', 'Run "countersign --help" for the commands.')
  const command = commandIn(argv)
  if (!command) {
    // `countersign prompts` and `countersign prompts --help`
    const [, second] = argv
    if (isGroup(first) && (second === undefined || second === '--help' || second === '-h')) {
      await out.text(groupHelp(first, commands))
      return 'ok'
    }
    throw unknownCommand(argv)
  }
  const { input, global } = parse(command, argv.slice(wordsOf(command).length))
  if (global.help) {
    await out.text(commandHelp(command))
    return 'ok'
  }
  const { environment, signal } = surroundings
  const context: Context = {
    ...surroundings,
    out,
    profile: global.profile,
    projectOption: global.project,
    async connect() {
      const login = await findLogin(environment, global.profile)
      return new Connection({ ...login, project: global.project ?? login.project })
    },
  }
  const running = command.run(context, input)
  const ending = await (command.stopsItself ? running : Promise.race([running, aborted(signal)]))
  // When they're aborted, some calls return early instead of throwing.
  signal.throwIfAborted()
  return ending ?? 'ok'
}

/** Rejects when a signal aborts. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

const wordsOf = ({ name }: Command): string[] => name.split(' ')

const commandIn = (argv: readonly string[]): Command | undefined =>
  commands.find(command => wordsOf(command).every((word, index) => argv[index] === word))

const isGroup = (word: string): boolean => commands.some(({ name }) => name.startsWith(`${word} `))

function helpFor(words: readonly string[]): string {
  const [first] = words
  if (first === undefined || first.startsWith('-')) return overview(commands)
  const command = commandIn(words)
  if (command) return commandHelp(command)
  if (isGroup(first) && words.length === 1) return groupHelp(first, commands)
  throw unknownCommand(words)
}

function unknownCommand(argv: readonly string[]) {
  const [first = '', second] = argv
  const isKnownGroup = isGroup(first)
  const given = isKnownGroup && second !== undefined ? `${first} ${second}` : first
  const meant = isKnownGroup
    ? closest(
        given,
        commands.map(({ name }) => name),
      )
    : closest(first, [...new Set(commands.map(command => wordsOf(command)[0] ?? ''))])
  const hint = `Run "countersign ${isKnownGroup ? first : '--help'}" for the commands.`
  return invalid(`There is no command "${given}"${meant === undefined ? '' : `. Did you mean "${meant}"?`}`, hint)
}

function asText({ message, details, hint, requestId, fields, ending }: ReturnType<typeof faultOf>): string {
  const { heldBy, until } = fields
  return [
    `Error: ${message}`,
    // If there's only one fault, it's often the same as the message.
    ...details
      .map(({ path, message }) => [path, message].filter(Boolean).join(': '))
      .filter(line => line !== message)
      .map(line => `  ${line}`),
    ...(heldBy !== undefined ? [`  ${heldBy} holds it until ${until}.`] : []),
    ...(hint !== undefined ? [hint] : []),
    // The id identifies the request in the service's logs.
    ...(requestId !== undefined && ending === 'unavailable' ? [`Request: ${requestId}`] : []),
  ].join('\n')
}
