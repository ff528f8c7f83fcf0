import type { Argument, Command, Option, Options } from './command.ts'
import { GLOBAL_OPTIONS } from './global-options.ts'
import { flagName } from './parse.ts'

/* The text of --help. */

const WIDTH = 80

/** What the program does, and its commands. */
export const overview = (commands: readonly Command[]): string =>
  page(
    ['countersign: review what AI pipelines produce, from the command line.'],
    section('Usage', ['countersign <command> [options]']),
    section('Commands', table(commands.map(({ name, summary }) => [name, summary]))),
    section('Options for every command', optionLines(GLOBAL_OPTIONS)),
    section('Get started', [
      'countersign login                  store the URL and a key',
      'countersign traces list --limit 5  see the newest traces',
      'countersign help experiment run    learn about a command',
    ]),
    ['Data goes to stdout, messages to stderr. docs/cli.md has all commands and exit codes.'],
  )

/** The commands that begin with a word. */
export const groupHelp = (group: string, commands: readonly Command[]): string =>
  page(
    section('Usage', [`countersign ${group} <command> [options]`]),
    section(
      'Commands',
      table(commands.filter(({ name }) => name.startsWith(`${group} `)).map(({ name, summary }) => [name, summary])),
    ),
    [`Run "countersign help ${group} <command>" to learn about one.`],
  )

/** How to use a command. */
export const commandHelp = (command: Command): string =>
  page(
    [`${command.summary}.`],
    section('Usage', [usage(command)]),
    ...command.description.map(text => wrap(plain(text), WIDTH)),
    Object.keys(command.arguments).length > 0 || command.rest
      ? section(
          'Arguments',
          table([
            ...Object.entries(command.arguments).map(([name, { description }]) => [`<${name}>`, description] as const),
            ...(command.rest ? [[`-- <${command.rest.value}>`, command.rest.description] as const] : []),
          ]),
        )
      : [],
    Object.keys(command.options).length > 0 ? section('Options', optionLines(command.options)) : [],
    section('Options for every command', optionLines(GLOBAL_OPTIONS)),
    section(
      'Examples',
      command.examples.flatMap(([example, effect]) => [`# ${effect}`, example]),
    ),
    command.scopes.length > 0 ? [`The key needs the scopes: ${command.scopes.join(', ')}.`] : [],
  )

/** A command's form: `countersign traces show <trace> [options]`. */
export const usage = ({ name, arguments: values, options, rest }: Command): string =>
  [
    'countersign',
    name,
    ...Object.entries(values).map(([name, argument]) => argumentForm(name, argument)),
    ...Object.entries(options)
      .filter(([, option]) => option.type === 'text' && option.isRequired)
      .map(([name, option]) => optionForm(name, option)),
    '[options]',
    ...(rest ? [`-- <${rest.value}>`] : []),
  ].join(' ')

function argumentForm(name: string, { isOptional, isRepeated }: Argument): string {
  const form = `<${name}>${isRepeated ? '...' : ''}`
  return isOptional ? `[${form}]` : form
}

/** An option as it's written: `--step <step>`. */
export function optionForm(name: string, option: Option): string {
  const flag = `--${flagName(name)}`
  switch (option.type) {
    case 'flag':
      return option.short === undefined ? flag : `-${option.short}, ${flag}`
    case 'choice':
      return `${flag} ${option.choices.join('|')}`
    default:
      return `${option.short === undefined ? '' : `-${option.short}, `}${flag} <${option.value}>`
  }
}

const optionLines = (options: Options): string[] =>
  table(Object.entries(options).map(([name, option]) => [optionForm(name, option), optionText(option)]))

/** An option's description, with everything else that a user needs to know about its value. */
export const optionText = (option: Option): string =>
  [
    option.description,
    option.type === 'texts' && 'Can be repeated.',
    option.type === 'text' && option.isRequired && 'Required.',
  ]
    .filter(Boolean)
    .join(' ')

const section = (title: string, lines: readonly string[]): string[] => [`${title}:`, ...lines.map(line => `  ${line}`)]

const page = (...parts: readonly (readonly string[])[]): string =>
  `${parts
    .filter(({ length }) => length > 0)
    .map(lines => lines.join('\n'))
    .join('\n\n')}\n`

const MAX_NAME_WIDTH = 28

/** Text in two columns. A long name gets a separate line. */
function table(rows: readonly (readonly [name: string, text: string])[]): string[] {
  const width = Math.min(MAX_NAME_WIDTH, Math.max(...rows.map(([name]) => name.length)))
  const indent = ' '.repeat(width + 2)
  return rows.flatMap(([name, text]) => {
    const lines = wrap(plain(text), WIDTH - width - 4).map(line => indent + line)
    if (name.length > width) return [name, ...lines]
    const [first = '', ...others] = lines
    return [name.padEnd(width + 2) + first.slice(indent.length), ...others]
  })
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** Turns Markdown into plain text, by removing the backticks and the targets of links. */
const plain = (text: string): string => text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '')
