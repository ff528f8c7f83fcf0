import { createReadStream } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { nounFor } from '../../../domain/counted.ts'
import { IMPORT_SOURCES, type ImportSource, importFiles } from '../../import/import.ts'
import type { ImportFile } from '../../import/read.ts'
import type { ImportReport } from '../../import/report.ts'
import { defineCommand } from '../command.ts'
import type { Context } from '../context.ts'
import { counted } from '../counted.ts'
import { Failure, invalid } from '../failure.ts'
import type { Output } from '../output.ts'
import { shownLine } from '../shown-text.ts'

/** The project of a dry run. Ids depend on the project, but a dry run doesn't show any ids. */
const NO_PROJECT = '00000000-0000-0000-0000-000000000000'

/** How many errors are printed. With `--json`, more of them are printed. */
const MAX_PRINTED = 20

export const importExports = defineCommand({
  name: 'import',
  summary: 'Import traces, feedback, and corrections from another tool',
  description: [
    'Reads exports from Langfuse, LangSmith, Phoenix, or Countersign (`jsonl`): JSON Lines, JSON arrays, or saved API responses, gzipped or not. Pass all the files in an export at once, because scores and spans are often in separate files. `docs/importing.md` says what each tool exports and where everything goes.',
    'Importing a file again changes nothing, so if the import is interrupted, run the same command again.',
    'At the end, the command reports what was imported, what has no equivalent in Countersign, and which records were invalid. If any were, the exit code is 7, and everything else is still imported.',
  ],
  arguments: {
    source: { description: `Where the files are from: ${IMPORT_SOURCES.join(', ')}` },
    files: { description: 'The files, in any order', isRepeated: true },
  },
  options: {
    user: {
      type: 'texts',
      value: 'id=email',
      description: "The email of one of the source's users. Corrections by users with an email become their decisions.",
    },
    force: { type: 'flag', description: "Keep corrections that violate the step's outputSchema." },
    dryRun: { type: 'flag', description: "Only report what would be imported. Doesn't need a login." },
  },
  examples: [
    ['countersign import langfuse traces.jsonl observations.jsonl scores.jsonl', 'All the files in a Langfuse export'],
    ['countersign import langsmith runs.jsonl feedback.jsonl --user 4f0c=ada@example.com', 'With corrections by Ada'],
    ['countersign import phoenix spans.json annotations.json --dry-run', "First see what wouldn't be imported"],
  ],
  scopes: ['ingest', 'manage', 'review'],
  json: '`{source, isDryRun, records, sent, reviews, unplaced, warnings, errors, errorCount}`',
  async run(context, { arguments: { source, files: names }, options: { user, force, dryRun } }) {
    if (!isSource(source)) throw invalid(`"${source}" isn't a source`, `The sources are: ${IMPORT_SOURCES.join(', ')}.`)
    const users = new Map(user.map(emailOf))
    const files = await Promise.all(names.map(name => openFile(context, name)))
    const target = dryRun ? { service: undefined, projectId: NO_PROJECT } : await targetOf(context)
    const { out, signal } = context
    const report = await importFiles({
      source,
      files,
      ...target,
      users,
      force,
      signal,
      onProgress: ({ stage, records }) => out.progress(`${STAGES[stage]}: ${records} records`),
    })
    await out.json(report)
    await print(out, report)
    return report.errorCount > 0 ? 'incomplete' : 'ok'
  },
})

const STAGES = {
  content: 'Traces and spans',
  parts: 'Trace values',
  locate: 'Matching feedback to traces',
  judgments: 'Feedback and corrections',
} as const

const isSource = (name: string): name is ImportSource => IMPORT_SOURCES.some(source => source === name)

function emailOf(given: string): [id: string, email: string] {
  const [, id, email] = /^(.+)=([^=\s@]+@[^=\s@]+)$/.exec(given) ?? []
  if (id === undefined || email === undefined)
    throw invalid(`--user "${given}" must have the form <ID or name>=<email>`)
  return [id, email]
}

/** A file that's read as a stream several times, so it can't be a pipe. */
async function openFile({ directory }: Context, name: string): Promise<ImportFile> {
  const path = resolve(directory, name)
  const found = await stat(path).catch(() => undefined)
  if (!found) throw invalid(`There is no file "${name}"`)
  if (!found.isFile()) throw invalid(`"${name}" isn't a regular file, and it has to be read several times`)
  await access(path, constants.R_OK).catch(() => {
    throw invalid(`"${name}" can't be read`)
  })
  return { name, open: () => createReadStream(path) }
}

/** The project to import into. Fails early if the key can't import everything. */
async function targetOf(context: Context) {
  const connection = await context.connect()
  const { scopes } = await connection.session()
  const missing = ['ingest', 'manage', 'review'].filter(scope => !scopes.some(given => given === scope))
  if (missing.length > 0) {
    throw new Failure(
      'denied',
      'forbidden',
      `The key lacks the ${nounFor(missing.length, 'scope')} ${missing.join(', ')}, which an import needs`,
    )
  }
  const [project, service] = await Promise.all([connection.project(), connection.service()])
  return { projectId: project.id, service }
}

async function print(out: Output, report: ImportReport): Promise<void> {
  const { isDryRun, records, sent, reviews, unplaced, warnings, errors, errorCount } = report
  await out.line(`Read ${counted(records, 'record')}. ${isDryRun ? 'Would send' : 'Sent'}:`, 'strong')
  for (const [kind, count] of Object.entries(sent)) if (count > 0) await out.line(`  ${kind}: ${count}`)
  if (reviews.added + reviews.unchanged > 0)
    await out.line(
      `  Of the reviews, ${reviews.added} ${reviews.added === 1 ? 'is' : 'are'} new, and ${reviews.unchanged} changed nothing.`,
    )
  if (unplaced.length > 0) await out.line('\nNo equivalent in Countersign:', 'strong')
  for (const { path, note, count, example } of unplaced) {
    await out.line(shownLine(`  ${path}: ${count}, for example in ${example}${note === null ? '' : ` (${note})`}`, 300))
  }
  if (warnings.length > 0) await out.line('\nWarnings:', 'strong')
  for (const { message, count } of warnings) await out.line(shownLine(`  ${message}: ${count}`, 300))
  if (errorCount === 0) return
  await out.line(`\nNot imported: ${errorCount}`, 'bad')
  for (const { file, line, id, message } of errors.slice(0, MAX_PRINTED)) {
    await out.line(shownLine(`  ${file}:${line}${id ? ` ${id}` : ''}: ${message}`, 300))
  }
  if (errorCount > MAX_PRINTED)
    await out.line(`  and ${errorCount - MAX_PRINTED} more: --json lists up to 500`, 'faint')
}
