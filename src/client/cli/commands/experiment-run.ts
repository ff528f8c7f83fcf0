import { CountersignError } from '../../errors.ts'
import type { ExperimentProgress } from '../../experiment.ts'
import { newUuid } from '../../ids.ts'
import { MAX_CONCURRENCY } from '../../limits.ts'
import type { Experiment } from '../../wire.ts'
import { defineCommand } from '../command.ts'
import type { Connection } from '../connection.ts'
import type { Context } from '../context.ts'
import { counted } from '../counted.ts'
import { EXIT_CODES } from '../exit-codes.ts'
import { OnePerItem } from '../experiment/each.ts'
import { printReport } from '../experiment/report.ts'
import { OneForAll } from '../experiment/stream.ts'
import { invalid } from '../failure.ts'
import { readPrompts } from '../prompts/folder.ts'
import { folderAt, folderOption } from '../prompts/options.ts'
import { chosenVersion, requirePrompt, VERSION_FORMS } from '../prompts/remote.ts'
import { Stop } from '../stop.ts'

/**
 * How long results are held back so that they can be sent together. If the process is killed, the items whose results
 * weren't sent have to run again.
 */
const SEND_INTERVAL_MS = 500
const DEFAULT_TIMEOUT_SECONDS = 300
const MAX_TIMEOUT_SECONDS = 24 * 60 * 60

export const runExperiment = defineCommand({
  name: 'experiment run',
  summary: "Run a command on a dataset's items, and report how many outputs are right",
  description: [
    "Runs the command once for each item in the step's dataset. The command gets the item's input as JSON on stdin, and prints the output. If stdout is a single JSON value, the output is that value; otherwise, it's the text without its final newline. If the exit code isn't 0, the item gets an error with the beginning of stderr.",
    'With `--jsonl`, the command starts once and keeps running. Each line of its stdin is an item: `{id, input, state, metadata, split}`. For each item, the command prints a line with `{id, output}` or `{id, error}`, in any order. It can add `usage` (`{inputTokens, outputTokens}`), `costUsd`, and `traceId`. Up to `--concurrency` items are pending at a time. The command should exit when its stdin ends.',
    'The command runs without a shell. Its environment has COUNTERSIGN_EXPERIMENT_ID, COUNTERSIGN_PROMPT_VERSION_ID, and, without `--jsonl`, COUNTERSIGN_ITEM_ID.',
    'Results are sent as they come in. If the run is interrupted for any reason, run it again with its `--id`, and only the items without a result are run. The ID is printed at the start.',
    "If the step has a gate that the version doesn't meet, the exit code is 1.",
  ],
  arguments: {},
  rest: { value: 'command', description: 'The program that runs an item, and its arguments' },
  options: {
    step: {
      type: 'text',
      value: 'step',
      description: 'The step whose dataset has the items. Required unless `--id` is given.',
    },
    id: { type: 'text', value: 'uuid', description: 'The experiment to continue, or an ID for a new one.' },
    promptVersion: {
      type: 'text',
      value: 'version',
      description: `The version of the step's prompt that the command uses: ${VERSION_FORMS}. Required to check a gate.`,
    },
    split: { type: 'text', value: 'split', description: 'Only the items in this split, such as test.' },
    sample: {
      type: 'number',
      value: 'n',
      min: 1,
      max: 10_000,
      description: 'Only this many items, the same ones each time.',
    },
    datasetVersion: {
      type: 'text',
      value: 'version',
      description: 'A version of the dataset. Default: the current one.',
    },
    includeStale: { type: 'flag', description: 'Include items whose output has changed since the review.' },
    baseline: {
      type: 'text',
      value: 'uuid',
      description: 'An experiment to compare with. Default: the recorded outputs.',
    },
    model: { type: 'text', value: 'model', description: "The model that you're trying, for your own records." },
    name: { type: 'text', value: 'name', description: "The experiment's name." },
    concurrency: {
      type: 'number',
      value: 'n',
      min: 1,
      max: MAX_CONCURRENCY,
      description: 'How many items run at a time. Default: 4.',
    },
    timeout: {
      type: 'number',
      value: 'seconds',
      min: 1,
      max: MAX_TIMEOUT_SECONDS,
      description: `How long an item may take. Default: ${DEFAULT_TIMEOUT_SECONDS}.`,
    },
    jsonl: { type: 'flag', description: 'Start the command once, and send it one item per line.' },
    stdin: {
      type: 'choice',
      choices: ['input', 'item'],
      description: 'What the command gets: the input (the default), or `{id, input, state, metadata, split}`.',
    },
    output: {
      type: 'choice',
      choices: ['auto', 'json', 'text'],
      description:
        'How to read stdout. Default: auto. With `text`, `42` is a string, and if nothing is printed, the output is an empty string.',
    },
    ...folderOption,
  },
  examples: [
    ['countersign experiment run --step triage --split test -- node triage.js', 'Try the code as it is now'],
    ['countersign experiment run --step triage --prompt-version local -- node triage.js', 'Try the prompt in the file'],
    ['countersign experiment run --step triage --jsonl --concurrency 8 -- python3 triage.py', 'Start Python only once'],
  ],
  scopes: ['read', 'review'],
  json: 'the report as in `GET /api/experiments/{id}`, with `url`',
  stopsItself: true,
  async run(context, { options, rest: command }) {
    const { out, directory, environment, signal, connect } = context
    const { step, promptVersion, split, sample, datasetVersion, includeStale, baseline, model, name, concurrency } =
      options
    if (step === undefined && options.id === undefined)
      throw invalid('--step <step> is required', 'Or continue an experiment with --id.')
    if (options.jsonl && (options.output !== undefined || options.stdin !== undefined)) {
      throw invalid('--stdin and --output have no effect with --jsonl')
    }
    const connection = await connect()
    const known = options.id === undefined ? undefined : await findExperiment(connection, options.id)
    const chosen =
      promptVersion === undefined || step === undefined
        ? undefined
        : (await findVersion(connection, step, promptVersion, folderAt(directory, options.folder))).id
    // If an experiment continues, it uses the version that it started with.
    const promptVersionId = chosen ?? known?.promptVersionId ?? undefined
    const id = options.id ?? newUuid()
    const stop = new AbortController()
    const abort = () => stop.abort(signal.reason)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    const candidate = {
      command,
      directory,
      environment: {
        ...environment,
        COUNTERSIGN_EXPERIMENT_ID: id,
        ...(promptVersionId !== undefined && { COUNTERSIGN_PROMPT_VERSION_ID: promptVersionId }),
      },
    }
    const settings = {
      timeoutSeconds: options.timeout ?? DEFAULT_TIMEOUT_SECONDS,
      output: options.output ?? 'auto',
      isWholeItem: options.stdin === 'item',
      fail: (error: unknown) => stop.abort(error),
    } as const
    const runner = options.jsonl ? new OneForAll(candidate, settings) : new OnePerItem(candidate, settings)
    let [hasBegun, isDone] = [false, false]
    const showProgress = progressOn(context)
    try {
      const client = await connection.client({ flushIntervalMs: SEND_INTERVAL_MS })
      const report = await client.experiment(
        {
          id,
          ...(step !== undefined && { step }),
          promptVersionId,
          split,
          sample,
          version: datasetVersion,
          includeStale: includeStale || undefined,
          baseline,
          model,
          name,
        },
        (item, run) => runner.run(item, run),
        {
          concurrency,
          signal: stop.signal,
          onProgress: progress => {
            hasBegun = true
            return showProgress(progress)
          },
        },
      )
      isDone = true
      await out.json(report)
      await printReport(out, connection, report)
      if (!report.gate)
        await out.note('No gate was checked: the step has none, or --prompt-version is missing.', 'faint')
      return report.gate && !report.gate.met ? 'no' : 'ok'
    } catch (error) {
      if (!hasBegun) throw error
      if (!(error instanceof Stop)) await out.note(howToGoOn(id, options, command))
      else {
        const { code } = EXIT_CODES[error.ending]
        await out.error(`Stopped. ${howToGoOn(id, options, command)}`, {
          error: 'Stopped',
          code: error.ending,
          exitCode: code,
          id,
        })
      }
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
      await runner.stop(isDone)
    }
  },
})

/** Prints which experiment is running, and then its progress. */
function progressOn({ out }: Pick<Context, 'out'>) {
  let isFirst = true
  return async ({ id, url, items, done, errors }: ExperimentProgress): Promise<void> => {
    if (isFirst) {
      isFirst = false
      await out.note(`Experiment ${id}: ${counted(items, 'item')}${done > 0 ? `, ${done} already done` : ''}\n${url}`)
    }
    await out.progress(`${done} of ${counted(items, 'item')} done${errors > 0 ? `, ${counted(errors, 'error')}` : ''}`)
  }
}

async function findVersion(connection: Connection, step: string, name: string, folder: string) {
  const local = name === 'local' ? (await readPrompts(folder)).get(step) : undefined
  return chosenVersion(await requirePrompt(connection, step), name, local)
}

/** The experiment with this id. Undefined if it hasn't started yet. */
async function findExperiment(connection: Connection, id: string): Promise<Experiment | undefined> {
  try {
    return await connection.call<Experiment>(`/api/experiments/${encodeURIComponent(id)}`, 'counts')
  } catch (error) {
    if (error instanceof CountersignError && error.status === 404) return undefined
    throw error
  }
}

/** The options that determine how items are run. The other options are stored with the experiment. */
interface HowToRun {
  jsonl: boolean
  stdin: string | undefined
  output: string | undefined
  concurrency: number | undefined
  timeout: number | undefined
}

function howToGoOn(id: string, { jsonl, ...values }: HowToRun, command: readonly string[]): string {
  const { stdin, output, concurrency, timeout } = values
  const given = Object.entries({ stdin, output, concurrency, timeout }).filter(([, value]) => value !== undefined)
  const words = [
    '--id',
    id,
    ...(jsonl ? ['--jsonl'] : []),
    ...given.flatMap(([name, value]) => [`--${name}`, String(value)]),
  ]
  return `To continue with the remaining items:\n  countersign experiment run ${words.join(' ')} -- ${command.map(quoted).join(' ')}`
}

/** A word, quoted for a shell if necessary. */
const quoted = (word: string): string => (/^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)
