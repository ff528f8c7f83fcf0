import type { Command } from './command.ts'
import { EXIT_CODES } from './exit-codes.ts'
import { GLOBAL_OPTIONS } from './global-options.ts'
import { optionForm, optionText, usage } from './help.ts'

/* The reference in docs/cli.md. */

/** The commands, their options, and the exit codes, as Markdown. */
export const reference = (commands: readonly Command[]): string =>
  [
    '## Exit codes',
    table(
      ['Code', ''],
      Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning]),
    ),
    '## Options for every command',
    optionTable(GLOBAL_OPTIONS),
    '## Commands',
    ...commands.flatMap(command => [`### ${command.name}`, ...sectionOf(command)]),
  ].join('\n\n')

function sectionOf(command: Command): string[] {
  const { summary, description, arguments: values, options, rest, examples, scopes, json } = command
  const named: [string, string][] = Object.entries(values).map(([name, { description }]) => [
    `\`<${name}>\``,
    description,
  ])
  if (rest) named.push([`\`-- <${rest.value}>\``, rest.description])
  return [
    `${summary}.`,
    `\`\`\`sh\n${usage(command)}\n\`\`\``,
    ...description,
    ...(named.length > 0 ? [table(['Argument', ''], named)] : []),
    ...(Object.keys(options).length > 0 ? [optionTable(options)] : []),
    `\`\`\`sh\n${examples.map(([example, effect]) => `# ${effect}\n${example}`).join('\n')}\n\`\`\``,
    `**JSON:** ${json}.`,
    ...(scopes.length > 0 ? [`**Scopes:** ${scopes.map(scope => `\`${scope}\``).join(', ')}.`] : []),
  ]
}

const optionTable = (options: Command['options']): string =>
  table(
    ['Option', ''],
    Object.entries(options).map(([name, option]) => [`\`${optionForm(name, option)}\``, optionText(option)]),
  )

/** A table whose columns line up. */
function table(header: readonly [string, string], rows: readonly (readonly [string, string])[]): string {
  const cells = [header, ...rows].map(
    ([name, text]) => [name.replaceAll('|', '\\|'), text.replaceAll('|', '\\|')] as const,
  )
  const widths = [0, 1].map(column => Math.max(3, ...cells.map(row => (row[column] ?? '').length)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [first, ...others] = cells.map(line)
  return [first, `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |`, ...others].join('\n')
}
