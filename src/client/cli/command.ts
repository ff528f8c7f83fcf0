import type { Context } from './context.ts'
import type { Ending } from './exit-codes.ts'

/* The definition of a command. The help, the parser, and docs/cli.md are all based on it. */

interface OptionText {
  description: string
  /** A single letter. */
  short?: string
}

/** An option that's either present or not. */
interface Flag extends OptionText {
  type: 'flag'
}

/** An option with a string as its value. */
interface Text extends OptionText {
  type: 'text'
  /** A word that describes the value, such as `slug`. */
  value: string
  isRequired?: boolean
}

/** An option that can be given several times. */
interface Texts extends OptionText {
  type: 'texts'
  value: string
}

/** An option with a whole number as its value. */
interface WholeNumber extends OptionText {
  type: 'number'
  value: string
  min: number
  max: number
}

/** An option with one of several words as its value. */
interface Choice extends OptionText {
  type: 'choice'
  choices: readonly string[]
}

export type Option = Flag | Text | Texts | WholeNumber | Choice
export type Options = Readonly<Record<string, Option>>

/** A value that follows the command's name. */
export interface Argument {
  description: string
  isOptional?: boolean
  /** Takes all remaining values. */
  isRepeated?: boolean
}

/** In the order in which they're given. */
export type Arguments = Readonly<Record<string, Argument>>

type OptionValue<Given extends Option> = Given extends Flag
  ? boolean
  : Given extends Texts
    ? string[]
    : Given extends WholeNumber
      ? number | undefined
      : Given extends { choices: readonly (infer Word)[] }
        ? Word | undefined
        : Given extends { isRequired: true }
          ? string
          : string | undefined

type ArgumentValue<Given extends Argument> = Given extends { isRepeated: true }
  ? string[]
  : Given extends { isOptional: true }
    ? string | undefined
    : string

/** The arguments and options that the user gave. */
export interface Input<GivenArguments extends Arguments, GivenOptions extends Options> {
  arguments: { [Name in keyof GivenArguments]: ArgumentValue<GivenArguments[Name]> }
  options: { [Name in keyof GivenOptions]: OptionValue<GivenOptions[Name]> }
  /** What follows `--`. */
  rest: readonly string[]
}

/** Everything about a command besides its parameters. */
interface CommandText {
  /** The words that identify the command, such as `traces list`. */
  name: string
  /** A line that describes the command in lists, such as "List traces". */
  summary: string
  /** What a user needs to know besides the options, in paragraphs of Markdown. */
  description: readonly string[]
  /** What follows `--`, if anything: `command`. */
  rest?: { value: string; description: string }
  /** Command lines, each with its effect. */
  examples: readonly (readonly [command: string, effect: string])[]
  /** The scopes that a key needs. */
  scopes: readonly string[]
  /** What `--json` prints. */
  json: string
  /** Whether the command handles `signal` itself, because it has to clean up. Other commands are simply abandoned. */
  stopsItself?: boolean
}

interface Definition<GivenArguments extends Arguments, GivenOptions extends Options> extends CommandText {
  arguments: GivenArguments
  /** By name, in camel case: `promptVersion` is `--prompt-version`. */
  options: GivenOptions
  /** Returns how the command ended. Undefined means that it succeeded. */
  run(context: Context, input: Input<GivenArguments, GivenOptions>): Promise<Ending | undefined>
}

/** A command with any parameters. */
export interface Command extends CommandText {
  arguments: Arguments
  options: Options
  run(context: Context, input: Parsed): Promise<Ending | undefined>
}

/** The input that the parser has read according to a command's definition. */
export type Parsed = Input<Arguments, Options>

/** Defines a command. Its `run` gets values of the types that its arguments and options declare. */
export const defineCommand = <const GivenArguments extends Arguments, const GivenOptions extends Options>(
  definition: Definition<GivenArguments, GivenOptions>,
): Command => ({
  ...definition,
  // The parser reads exactly what the definition declares.
  run: (context, input) => definition.run(context, input as Input<GivenArguments, GivenOptions>),
})
