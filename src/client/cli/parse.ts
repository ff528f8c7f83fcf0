import { parseArgs } from 'node:util'
import { describe } from '../errors.ts'
import type { Command, Option, Options, Parsed } from './command.ts'
import { type Failure, invalid } from './failure.ts'
import { GLOBAL_OPTIONS } from './global-options.ts'
import { closest } from './spelling.ts'

/** The options that every command has. */
export interface GlobalInput {
  json: boolean
  project: string | undefined
  profile: string | undefined
  help: boolean
}

type OptionValue = Parsed['options'][string]
type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** An option's name on the command line, without the dashes. */
export const flagName = (name: string): string => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

/** Parses what follows a command's name. Throws a `Failure` that says what to change. */
export function parse(command: Command, argv: readonly string[]): { input: Parsed; global: GlobalInput } {
  const specs: Options = { ...command.options, ...GLOBAL_OPTIONS }
  const { values, positionals, rest } = split(command, argv, specs)
  const global = {
    json: values.json === true,
    project: textOf(values.project),
    profile: textOf(values.profile),
    help: values.help === true,
  }
  // `--help` doesn't need any other arguments.
  if (global.help) return { input: { arguments: {}, options: {}, rest: [] }, global }
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, spec]) => [name, optionValue(command, name, spec, values)]),
  )
  if (command.rest && rest.length === 0) throw misused(command, `-- <${command.rest.value}> is required at the end`)
  if (!command.rest && rest.length > 0) throw misused(command, 'Nothing may follow --')
  return { input: { arguments: argumentValues(command, positionals), options, rest }, global }
}

/** Whether `--json` is given, for errors in the rest of a command line. */
export const wantsJson = (argv: readonly string[]): boolean => {
  const end = argv.indexOf('--')
  return argv.slice(0, end === -1 ? undefined : end).includes('--json')
}

function split(command: Command, argv: readonly string[], specs: Options) {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { type, short }]) => [
      flagName(name),
      {
        type: type === 'flag' ? ('boolean' as const) : ('string' as const),
        multiple: type === 'texts',
        ...(short !== undefined && { short }),
      },
    ]),
  )
  const end = argv.indexOf('--')
  const rest = end === -1 ? [] : argv.slice(end + 1)
  try {
    const args = argv.slice(0, end === -1 ? undefined : end)
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: true })
    return { values: values as Values, positionals, rest }
  } catch (error) {
    throw unparsable(command, describe(error).message, Object.keys(options))
  }
}

/** Turns an error from Node's parser into a short one that suggests the option that was probably meant. */
function unparsable(command: Command, message: string, names: readonly string[]): Failure {
  const [, unknown] = /Unknown option '(-[^']*)'/.exec(message) ?? []
  if (unknown === undefined) return misused(command, message.split(/\. |\n/)[0] ?? message)
  const meant = closest(unknown.replace(/^-+/, ''), names)
  return misused(command, `There is no option ${unknown}${meant === undefined ? '' : `. Did you mean --${meant}?`}`)
}

function optionValue(command: Command, name: string, spec: Option, values: Values): OptionValue {
  const flag = `--${flagName(name)}`
  const value = values[flagName(name)]
  switch (spec.type) {
    case 'flag':
      return value === true
    case 'texts':
      return Array.isArray(value) ? value.map(String) : []
    case 'text':
      if (value === undefined && spec.isRequired) throw misused(command, `${flag} <${spec.value}> is required`)
      if (value === '') throw misused(command, `${flag} must not be empty`)
      return textOf(value)
    case 'number': {
      if (value === undefined) return undefined
      const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN
      if (number >= spec.min && number <= spec.max) return number
      throw misused(command, `${flag} must be a whole number from ${spec.min} to ${spec.max}`)
    }
    case 'choice':
      if (value === undefined || spec.choices.includes(String(value))) return textOf(value)
      throw misused(command, `${flag} must be one of: ${spec.choices.join(', ')}`)
  }
}

function argumentValues(command: Command, given: readonly string[]): Parsed['arguments'] {
  const values = new Map<string, string | string[] | undefined>()
  let left = given
  for (const [name, { isOptional, isRepeated }] of Object.entries(command.arguments)) {
    const [first] = left
    if (first === undefined && !isOptional) throw misused(command, `<${name}> is missing`)
    values.set(name, isRepeated ? [...left] : first)
    left = isRepeated ? [] : left.slice(1)
  }
  if (left.length > 0) throw misused(command, `Unexpected argument: ${left[0]}`)
  // The command's definition says which values are lists.
  return Object.fromEntries(values) as Parsed['arguments']
}

const misused = ({ name }: Command, message: string): Failure =>
  invalid(message, `Run "countersign ${name} --help" for its options.`)

const textOf = (value: Values[string]): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined
