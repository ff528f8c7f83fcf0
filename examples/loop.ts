/**
 * A step to improve, for the walk-through in docs/the-loop.md:
 *
 *     node loop.ts post    answers ten tickets with the active version of the step's prompt, and records the runs
 *     node loop.ts more    answers twenty more tickets, as if it were the next day
 *     node loop.ts run     runs the step's experiments that are waiting for results
 *
 * If COUNTERSIGN_KEY isn't set, it uses the demo's key, which `npm start` stores in this folder.
 */
import { existsSync, readFileSync } from 'node:fs'
import { Countersign } from 'countersign/client'

const STEP = 'sort-ticket'
const { COUNTERSIGN_URL: baseUrl = 'http://localhost:8787', COUNTERSIGN_PROJECT: projectSlug = 'support' } = process.env
const apiKey = process.env.COUNTERSIGN_KEY ?? demoKey()
const countersign = new Countersign({ baseUrl, apiKey, projectSlug })

const PROMPT = `Sort the ticket, and summarize it.

Use the label from the first line that has a word from the ticket:
- billing: invoice, charged
- delivery: package, courier
- other: anything else

The summary has at most 20 words.`

/** The tickets by number. Hashes of the numbers put the first five in the test split. */
const TICKETS = {
  1004: 'I want to send the lamp back.',
  1013: 'Can I give back the shoes that I ordered?',
  1015: "I'd like to exchange this shirt for a larger one.",
  1016: 'The invoice that you sent me has my old address on it.',
  1017: 'You charged me twice. I want my money back.',
  1001: 'My package has not arrived.',
  1002: 'The courier left it next door.',
  1003: 'Do you have a store in Leeds?',
  1005: 'Where do I send the kettle back?',
  1006: 'Do you sell gift cards?',
}

/** The next day's tickets. */
const MORE_TICKETS = {
  1021: 'The blender is too loud. I am sending it back.',
  1022: 'Is my package lost?',
  1023: 'Please resend the invoice for May.',
  1024: 'Are you open on Sundays?',
  1025: 'Can I exchange the gloves for a smaller size?',
  1026: 'I was charged for two lamps, but ordered one.',
  1027: 'The courier never rang the bell.',
  1028: 'Do you repair bicycles?',
  1029: 'How do I give back a gift?',
  1030: 'My package arrived open.',
  1031: 'Why is there no tax on the invoice?',
  1032: 'Which size fits a tall child?',
  1033: 'I want to exchange the red chair for a blue one.',
  1034: 'You charged my old card.',
  1035: 'When does the courier come?',
  1036: 'Do you ship to Norway?',
  1037: 'The tent leaks, so I want to send it back.',
  1038: 'The package is at the wrong address.',
  1039: 'May I pay by invoice?',
  1040: 'Is the green sofa in stock?',
}

interface Ticket {
  text: string
}

/** Stands in for a model: it follows the prompt to the letter. */
async function sortTicket(prompt: string, { text }: Ticket): Promise<{ label: string; summary: string }> {
  const lines = [...prompt.matchAll(/^- ([a-z]+): (.+)$/gm)]
  const matching = lines.find(([, , words = '']) => words.split(', ').some(word => text.toLowerCase().includes(word)))
  const words = text.split(' ')
  const [, limit = words.length] = /at most (\d+) words/.exec(prompt) ?? []
  return { label: matching?.[1] ?? 'other', summary: words.slice(0, Number(limit)).join(' ') }
}

interface Version {
  id: string
  content: string
  isActive: boolean
}

/** Returns the versions of the step's prompt. Creates the prompt if it doesn't exist. */
async function promptVersions(): Promise<Version[]> {
  const list = `/api/prompts?projectSlug=${projectSlug}&stepId=${STEP}`
  const find = () => call<{ prompts: { id: string }[] }>('GET', list)
  if ((await find()).prompts.length === 0) {
    await call('POST', '/api/prompts', { projectSlug, stepId: STEP, content: PROMPT })
  }
  const [prompt] = (await find()).prompts
  return (await call<{ versions: Version[] }>('GET', `/api/prompts/${prompt?.id}`)).versions
}

async function postTickets(tickets: Record<number, string>): Promise<void> {
  const version = (await promptVersions()).find(({ isActive }) => isActive)
  for (const [number, text] of Object.entries(tickets)) {
    const trace = countersign.startTrace('sort-tickets', { metadata: { group_id: `ticket-${number}` } })
    const options = { input: { text }, ...(version && { promptVersionId: version.id }) }
    await trace.span(STEP, () => sortTicket(version?.content ?? '', { text }), options)
    trace.complete()
  }
  await countersign.flush()
  console.log(
    `Posted ${Object.keys(tickets).length} tickets. Review them: ${baseUrl}/review?project=${projectSlug}&stepId=${STEP}`,
  )
}

interface Experiment {
  id: string
  stepId: string
  promptVersionId: string | null
}

async function runExperiments(): Promise<void> {
  const versions = await promptVersions()
  const list = `/api/experiments?projectSlug=${projectSlug}&state=running`
  const { experiments } = await call<{ experiments: Experiment[] }>('GET', list)
  const waiting = experiments.filter(({ stepId }) => stepId === STEP)
  for (const { id, promptVersionId } of waiting) {
    const prompt = versions.find(version => version.id === promptVersionId)?.content ?? PROMPT
    const report = await countersign.experiment<Ticket>({ id }, item => sortTicket(prompt, item.input))
    const { passed, failed, unjudged, fixed, regressed } = report.counts
    console.log(`${passed} passed, ${failed} failed, ${unjudged} unjudged; ${fixed} fixed, ${regressed} regressed`)
    console.log(report.url)
  }
  if (waiting.length === 0) console.log('No experiment is waiting for results. Start one in the app.')
}

/** Makes one call. The type parameter is the response body that the API documents for it. */
async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer
}

function demoKey(): string {
  const file = '.wrangler/state/demo-keys.json'
  if (!existsSync(file)) return ''
  const { projectKeys }: { projectKeys: { project: string; key: string }[] } = JSON.parse(readFileSync(file, 'utf8'))
  return projectKeys.find(({ project }) => project === projectSlug)?.key ?? ''
}

const [command] = process.argv.slice(2)
if (command === 'post') await postTickets(TICKETS)
else if (command === 'more') await postTickets(MORE_TICKETS)
else if (command === 'run') await runExperiments()
else console.log('Usage: node loop.ts post | more | run')
