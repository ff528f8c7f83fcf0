/**
 * `npm run bench:attribution [file ...]`: measures how often an engine finds the right category, type, and span. Posts
 * labeled cases through the public API to a fresh tenant. If no file is given, uses cases from `cases/`. The held-out
 * cases were never used for tuning.
 *
 *   --engine model    asks the model that ATTRIBUTION_MODEL and related variables configure (docs/configuration.md)
 *   --questions DIR   writes the question about each case to DIR/<id>.txt instead of asking a model
 *   --answers DIR     scores a model's answers in DIR/<id>.json, after parsing and checking them with the engine's code
 *   --cases           prints each wrong answer
 *   --json            prints a single JSON document; use with `npm run --silent`
 */
import { access, mkdir, readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from '../client.ts'
import { ADMIN_TOKEN, migrate, startServer } from '../server.ts'
import { type LabeledCase, readCases } from './cases.ts'
import { type CaseAnswer, postCase } from './post.ts'
import { startProvider } from './provider.ts'
import { binsOf, calibrationError, confusionOf, type Judged, linesOf, scoresOf, sureOf } from './scores.ts'

/** How many cases are posted at the same time. */
const PARALLEL = 4
/** The variables that configure a model. */
const MODEL_VARIABLES = /^(ATTRIBUTION_|MODEL_)/

/** Completes a job after its question has been written to a file. Nobody reads this answer. */
const UNREAD_ANSWER = JSON.stringify({
  quotes: [],
  reasoning: 'The question was written to a file.',
  error_type: 'system_failure',
  confidence: 0,
  span_id: null,
  alternatives: [],
})

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: 'string', default: 'rules' },
    questions: { type: 'string' },
    answers: { type: 'string' },
    cases: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const fromHere = (path: string) => resolve(process.env.INIT_CWD ?? '.', path)
const own = ['tuned', 'calibration', 'held-out'].map(name => resolve(import.meta.dirname, 'cases', `${name}.jsonl`))
const files = positionals.length > 0 ? positionals.map(fromHere) : own
const cases = (await Promise.all(files.map(readCases))).flat()
if (!['rules', 'model'].includes(flags.engine)) stop('--engine must be rules or model')
if (flags.questions && flags.answers) stop('Give --questions or --answers, not both')
if (flags.questions) await writeQuestions(fromHere(flags.questions))
else report(flags.answers ? await answersIn(fromHere(flags.answers)) : await judge(cases, modelVariables(), PARALLEL))

/** The result for a case: an answer, or the reason why there is none. */
type Outcome = { labeled: LabeledCase } & ({ answer: CaseAnswer } | { fault: string })

async function judge(
  cases: readonly LabeledCase[],
  variables: Readonly<Record<string, string>>,
  parallel: number,
  onCase: (labeled: LabeledCase) => void = () => {},
): Promise<Outcome[]> {
  const worker = 'countersign'
  const setup = { name: worker, program: 'countersign', database: 'cases', variables } as const
  await using server = await startServer([setup], { consumesJobs: true })
  await migrate(await server.databaseOf(worker))
  const admin = new Client(await server.urlOf(worker), { authorization: `Bearer ${ADMIN_TOKEN}` })
  const made = await admin.call('POST', '/api/orgs', { slug: 'cases', name: 'Labeled cases' })
  const owner = admin.with({ 'x-api-key': JSON.parse(made.body).apiKey.key })
  const outcomes = new Map<LabeledCase, Outcome>()
  const waiting = [...cases.entries()]
  const post = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, labeled] = next
      onCase(labeled)
      outcomes.set(labeled, { labeled, ...(await postCase(owner, `case-${index + 1}`, labeled)) })
    }
  }
  await Promise.all(Array.from({ length: parallel }, post))
  return cases.flatMap(labeled => outcomes.get(labeled) ?? [])
}

function modelVariables(): Record<string, string> {
  if (flags.engine === 'rules') return {}
  const given = Object.entries(process.env).filter(([name, value]) => MODEL_VARIABLES.test(name) && value)
  const variables = Object.fromEntries(given.map(([name, value = '']) => [name, value]))
  const { ATTRIBUTION_MODEL: model } = variables
  if (!model) stop('--engine model needs ATTRIBUTION_MODEL: see docs/configuration.md')
  if (model.startsWith('workers-ai/')) {
    stop(
      'The Workers AI binding only works in a deployed Worker. Use the OpenAI-compatible endpoint instead; see docs/configuration.md.',
    )
  }
  return variables
}

/** Asks about one case at a time, so that it can pass the case's id to `reply`. */
async function judgeByFiles(cases: readonly LabeledCase[], reply: (id: string, question: string) => Promise<string>) {
  let current = ''
  await using provider = await startProvider(question => reply(current, question))
  return await judge(cases, provider.variables, 1, ({ id }) => {
    current = id
  })
}

async function writeQuestions(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  const written = new Set<string>()
  const outcomes = await judgeByFiles(cases, async (id, question) => {
    await writeFile(fileOf(directory, id, 'txt'), `${question}\n`)
    written.add(id)
    return UNREAD_ANSWER
  })
  for (const each of outcomes) {
    if (!written.has(each.labeled.id))
      stop(`${each.labeled.id}: the model wasn't asked: ${'fault' in each ? each.fault : ''}`)
  }
  console.log(`Wrote ${written.size} questions to ${directory}. Score their answers with --answers DIR.`)
}

async function answersIn(directory: string): Promise<Outcome[]> {
  const texts = await Promise.all(
    cases.map(async labeled => {
      const file = fileOf(directory, labeled.id, 'json')
      const isThere = await access(file).then(
        () => true,
        () => false,
      )
      return { labeled, text: isThere ? await readFile(file, 'utf8') : undefined }
    }),
  )
  const given = new Map(texts.flatMap(({ labeled, text }) => (text === undefined ? [] : [[labeled.id, text] as const])))
  const answered = await judgeByFiles(
    cases.filter(({ id }) => given.has(id)),
    async id => given.get(id) ?? '',
  )
  const missing = cases.filter(({ id }) => !given.has(id)).map(labeled => ({ labeled, fault: 'there is no answer' }))
  return [...answered, ...missing]
}

function fileOf(directory: string, id: string, extension: string): string {
  if (!/^[\w.-]+$/.test(id)) stop(`The id ${id} can't be used as a file name`)
  return resolve(directory, `${id}.${extension}`)
}

function report(outcomes: readonly Outcome[]): void {
  const splits = [...Map.groupBy(outcomes, ({ labeled }) => labeled.split)].map(([split, all]) => ({
    split,
    judged: all.flatMap(each => ('answer' in each ? [each] : [])),
    faults: all.flatMap(each => ('fault' in each ? [{ id: each.labeled.id, fault: each.fault }] : [])),
  }))
  if (flags.json) console.log(JSON.stringify(splits.map(reportOf), undefined, 2))
  else for (const each of splits) print(each)
}

interface Split {
  split: string
  judged: Judged[]
  faults: { id: string; fault: string }[]
}

function reportOf({ split, judged, faults }: Split) {
  return {
    split,
    engines: [...new Set(judged.map(({ answer }) => answer.engine))],
    scores: scoresOf(judged),
    sure: sureOf(judged),
    calibrationError: calibrationError(judged),
    bins: binsOf(judged),
    confusion: confusionOf(judged),
    faults,
  }
}

function print({ split, judged, faults }: Split): void {
  const { engines, scores, confusion } = reportOf({ split, judged, faults })
  console.log(`\n${split}: ${scores.cases} cases, answered by ${engines.join(', ') || 'nobody'}`)
  for (const { id, fault } of faults) console.log(`  not scored: ${id}: ${fault}`)
  if (judged.length === 0) return
  for (const line of linesOf(judged)) console.log(line)
  console.log(`\n  expected${' '.repeat(22)}answered`)
  for (const { expected, answered } of confusion) {
    const answers = Object.entries(answered).map(([type, count]) => `${type} ${count}`)
    console.log(`  ${expected.padEnd(30)}${answers.join(', ')}`)
  }
  if (!flags.cases) return
  console.log('')
  for (const { labeled, answer } of judged) {
    const { error_type, span } = labeled.expected
    if (answer.errorType === error_type && answer.span === span) continue
    console.log(
      `  ${labeled.id}: ${error_type} at ${span}; answered ${answer.errorType} (${answer.confidence}) at ${answer.span}`,
    )
  }
}

function stop(message: string): never {
  console.error(message)
  process.exit(1)
}
